"""csrc/xla/abi.h has the layout of the structs in jaxlib's own header."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import jax
import pytest

ROOT = Path(__file__).resolve().parents[3]

# for each struct of ours: jaxlib's; the members, with jaxlib's name if it is another; and jaxlib's
# name of `items`, if that follows
STRUCTS = {
    "pp_xla_extension": ("XLA_FFI_Extension_Base", "struct_size type next", ""),
    "pp_xla_version": (
        "XLA_FFI_Api_Version",
        "struct_size extensions:extension_start major:major_version minor:minor_version",
        "",
    ),
    "pp_xla_metadata": (
        "XLA_FFI_Metadata",
        "struct_size version:api_version traits state_type:state_type_id",
        "",
    ),
    "pp_xla_metadata_extension": (
        "XLA_FFI_Metadata_Extension",
        "base:extension_base metadata",
        "",
    ),
    "pp_xla_buffer": (
        "XLA_FFI_Buffer",
        "struct_size extensions:extension_start dtype data rank dims",
        "",
    ),
    "pp_xla_list": ("XLA_FFI_Args", "struct_size extensions:extension_start size types", "args"),
    "pp_xla_attrs": (
        "XLA_FFI_Attrs",
        "struct_size extensions:extension_start size types names items:attrs",
        "",
    ),
    "pp_xla_text": ("XLA_FFI_ByteSpan", "ptr len", ""),
    "pp_xla_scalar": ("XLA_FFI_Scalar", "dtype value", ""),
    "pp_xla_array": ("XLA_FFI_Array", "dtype size data", ""),
    "pp_xla_error_args": (
        "XLA_FFI_Error_Create_Args",
        "struct_size extensions:extension_start message code:errc",
        "",
    ),
    "pp_xla_stream_args": (
        "XLA_FFI_Stream_Get_Args",
        "struct_size extensions:extension_start context:ctx stream",
        "",
    ),
    "pp_xla_frame": (
        "XLA_FFI_CallFrame",
        "struct_size extensions:extension_start api context:ctx stage arguments:args results:rets"
        " attributes:attrs",
        "",
    ),
}
# ours may be a part of jaxlib's
LONGER = {"pp_xla_frame", "pp_xla_api"}
CONSTANTS = {
    "PP_XLA_MAJOR": "XLA_FFI_API_MAJOR",
    "PP_XLA_METADATA": "XLA_FFI_Extension_Metadata",
    "PP_XLA_EXECUTE": "XLA_FFI_ExecutionStage_EXECUTE",
    "PP_XLA_BUFFER": "XLA_FFI_ArgType_BUFFER",
    "PP_XLA_ATTR_ARRAY": "XLA_FFI_AttrType_ARRAY",
    "PP_XLA_ATTR_SCALAR": "XLA_FFI_AttrType_SCALAR",
    **{
        f"PP_XLA_{name}": f"XLA_FFI_DataType_{name}"
        for name in ("PRED", "S8", "S16", "S32", "S64", "U8", "U16", "U32", "U64", "F32", "F64")
    },
    **{
        f"PP_XLA_{name}": f"XLA_FFI_Error_Code_{name}"
        for name in (
            *("INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION"),
            *("ABORTED", "INTERNAL"),
        )
    },
}


def assertions() -> list[str]:
    lines = [f"{ours} == {theirs}" for ours, theirs in CONSTANTS.items()]
    for ours, (theirs, members, last) in STRUCTS.items():
        pairs = [pair.partition(":") for pair in members.split()]
        lines += [
            f"offsetof({ours}, {own}) == offsetof({theirs}, {other or own})"
            for own, _, other in pairs
        ]
        if last:
            lines.append(f"offsetof({ours}, items) == offsetof({theirs}, {last})")
        if ours not in LONGER:
            lines.append(f"sizeof({ours}) == sizeof({theirs})")
    lines += [
        "offsetof(pp_xla_list, items) == offsetof(XLA_FFI_Rets, rets)",
        "offsetof(pp_xla_api, create_error) == offsetof(XLA_FFI_Api, XLA_FFI_Error_Create)",
        "offsetof(pp_xla_api, get_stream) == offsetof(XLA_FFI_Api, XLA_FFI_Stream_Get)",
        # a version that jaxlib knows
        "PP_XLA_MINOR <= XLA_FFI_API_MINOR",
    ]
    return lines


def compiled(folder: Path, lines: list[str]) -> subprocess.CompletedProcess[str]:
    source = folder / "abi.c"
    checks = "\n".join(f'_Static_assert({line}, "differs");' for line in lines)
    compiler = [os.environ.get("CC", "gcc"), "-std=c11", "-fsyntax-only"]
    # not -I csrc: both have a folder named xla
    ours = ["-include", str(ROOT / "csrc" / "xla" / "abi.h")]
    command = [*compiler, f"-I{jax.ffi.include_dir()}", *ours, str(source)]
    source.write_text(f'#include "xla/ffi/api/c_api.h"\n{checks}\n')
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_layouts_and_constants_are_those_of_jaxlib(tmp_path: Path) -> None:
    done = compiled(tmp_path, assertions())
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "line",
    [
        "offsetof(pp_xla_buffer, rank) == offsetof(XLA_FFI_Buffer, dims)",
        "PP_XLA_S32 == XLA_FFI_DataType_S64",
    ],
)
def test_the_comparison_can_fail(line: str, tmp_path: Path) -> None:
    assert "differs" in compiled(tmp_path, [line]).stderr
