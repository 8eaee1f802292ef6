# SPDX-License-Identifier: Apache-2.0
"""Interfaces of nipype for the verbs of the command clvox: Register for `clvox register`, FilterN4 for `clvox filter n4`.

They are made from the Boutiques descriptors that are installed with the command, share/clvox/boutiques beside its bin
(CLVOX_DESCRIPTORS names another folder). Inputs are the options with _ for -. Outputs: the files of the descriptor as
warp_file and so on, and `files`, all that the run has written."""
import json
import keyword
import os
import shutil
from typing import Any, Dict, List

from nipype.interfaces.base import (CommandLine, CommandLineInputSpec, DynamicTraitedSpec, File, InputMultiPath, isdefined,
                                    traits)


def _folder() -> str:
    program = os.path.realpath(shutil.which("clvox") or "clvox")
    return os.environ.get("CLVOX_DESCRIPTORS") or os.path.join(os.path.dirname(program), "../share/clvox/boutiques")


class _Verb(CommandLine):
    """A verb; its descriptor is a class attribute."""
    _descriptor: Dict[str, Any] = {}
    output_spec = DynamicTraitedSpec

    def _outputs(self) -> Any:
        outputs = super()._outputs()
        for name in ["files"] + [one["id"] for one in self._descriptor.get("output-files", [])]:
            outputs.add_trait(name, traits.Any())
        return outputs

    def _list_outputs(self) -> Dict[str, Any]:
        with open(self.inputs.json, encoding="utf-8") as log:
            files = [os.path.abspath(path) for path in json.load(log).get("outputs", [])]
        found = {"files": files}
        for one in self._descriptor.get("output-files", []):
            path = one["path-template"]
            for name in self.inputs.copyable_trait_names():
                value = getattr(self.inputs, name)
                if isdefined(value):
                    path = path.replace(f"[{name.rstrip('_').upper()}]", str(value))
            if os.path.abspath(path) in files:
                found[one["id"]] = os.path.abspath(path)
        return found


def _trait(one: Dict[str, Any], position: int) -> Any:
    about = {"desc": one.get("description", one["name"])}
    flag = one.get("command-line-flag", "")
    if not flag:
        about["position"] = position
    if one["type"] == "Flag":
        return traits.Bool(argstr=flag, **about)
    about["argstr"] = f"{flag} %s".strip()
    if one["id"] == "json":  # which says what was written
        return traits.Str("clvox.json", usedefault=True, **about)
    if one.get("list"):
        if flag:
            about["argstr"] += "..."
        return InputMultiPath(File(exists=True) if one["type"] == "File" else traits.Str(), **about)
    if one["type"] == "File":
        return File(exists=True, **about)
    if one["type"] == "Number":
        return traits.Int(**about) if one.get("integer") else traits.Float(**about)
    return traits.Enum(*one["value-choices"], **about) if "value-choices" in one else traits.Str(**about)


def _name(word: str) -> str:
    return word + "_" if keyword.iskeyword(word) else word


def _make(path: str, name: str) -> Any:
    with open(path, encoding="utf-8") as file:
        descriptor = json.load(file)
    inputs = {_name(one["id"]): _trait(one, at) for at, one in enumerate(descriptor["inputs"])}
    spec = type(name + "InputSpec", (CommandLineInputSpec,), {"__module__": __name__, **inputs})
    return type(name, (_Verb,), {"__module__": __name__, "__doc__": descriptor["description"], "_descriptor": descriptor,
                                 "_cmd": descriptor["command-line"].split(" [")[0], "input_spec": spec})


def _files() -> Dict[str, str]:
    """Paths of the descriptors by the names of classes."""
    folder = _folder()
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    return {"".join(word.capitalize() for word in name[:-len(".json")].split("-")[1:]): os.path.join(folder, name)
            for name in names if name.startswith("clvox-") and name.endswith(".json")}


def __getattr__(name: str) -> Any:
    verb = name[:-len("InputSpec")] if name.endswith("InputSpec") else name  # pickles ask for both
    path = _files().get(verb)
    if not path:
        raise AttributeError(f"clvox.nipype has no {name}: {_folder()} has no descriptor of it")
    globals()[verb] = made = _make(path, verb)
    globals()[verb + "InputSpec"] = made.input_spec
    return globals()[name]


def __dir__() -> List[str]:
    return sorted(_files())
