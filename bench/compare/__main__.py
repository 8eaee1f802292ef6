# SPDX-License-Identifier: Apache-2.0
"""What `clvox bench compare` runs:

    python3 bench/compare A.json B.json ... [-o PAGE.html] [--markdown devices|rows|papers]

With --answer VERSION it writes nothing but JSON on standard output, for that version of clvox, which writes
the files."""
import os
import signal
import sys

sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
if sys.version_info < (3, 9):
    _said = "needs Python 3.9 or later, and python3 is %d.%d" % sys.version_info[:2]
    if any(word.startswith("--answer") for word in sys.argv):
        print('{"error": "%s"}' % _said)
        sys.exit(1)
    sys.exit("clvox bench compare: " + _said)
for _ended in "SIGINT", "SIGPIPE":
    signal.signal(getattr(signal, _ended), signal.SIG_DFL)

from compare import main  # noqa: E402  pylint: disable=wrong-import-position

sys.exit(main.main(sys.argv[1:]))
