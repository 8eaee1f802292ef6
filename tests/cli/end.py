# SPDX-License-Identifier: Apache-2.0
"""end.py SIGNAL CODE FOLDER FILE COMMAND...: sends the signal once FOLDER/FILE is there; again, where the run was faster."""
import os, shutil, signal, subprocess, sys, time
number, want, folder, seen = getattr(signal, sys.argv[1]), int(sys.argv[2]), sys.argv[3], os.path.join(*sys.argv[3:5])
for attempt in range(20):
    run = subprocess.Popen(sys.argv[5:])
    while run.poll() is None and not os.path.exists(seen):
        time.sleep(0.002)
    run.send_signal(number)
    code = run.wait()
    if code == want:
        break
    shutil.rmtree(folder)
sys.exit(code != want)
