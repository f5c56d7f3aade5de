"""How steps are compiled: pieces that only kernels call are not optimised and emitted by themselves.

numba optimises each function and emits its machine code, then links it into its callers and optimises it again there,
up to the kernel. With 73 steps below 5 kernels that was half of the first compile (docs/decisions/010). A step is kept
as simplified code instead; the kernel that it ends up in is optimised once, as a whole.
"""

from __future__ import annotations

from typing import Any

from llvmlite import binding as llvm
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, CompileResult, DefaultPassBuilder
from numba.core.compiler_machinery import LoweringPass, register_pass
from numba.core.typed_passes import NativeLowering


class _WithoutEngine:
    """The code generator of a step's library: the step is never loaded, so nothing there has an address."""

    def __init__(self, codegen: Any) -> None:
        self._codegen = codegen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)

    def set_env(self, name: str, environment: Any) -> None:
        """Only code that is loaded has a place for an environment."""


class StepLibrary(JITCodeLibrary):  # type: ignore[misc]
    """The code of one step. Functions in it are simplified one by one (numba's `_optimize_functions`): without that,
    kernels were 15 to 20 % slower (measured), however much was done to them later.
    """

    @property
    def codegen(self) -> Any:
        return _WithoutEngine(self._codegen)

    def _optimize_final_module(self) -> None:
        """The kernel's library does it."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        return 0  # as for any function without an entry point for Python


@register_pass(mutates_CFG=False, analysis_only=True)
class TakeStepLibrary(LoweringPass):  # type: ignore[misc]
    """The code that follows goes into a `StepLibrary`."""

    _name = "take_step_library"

    def __init__(self) -> None:
        LoweringPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        state.library = StepLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        return False


class StepCompiler(CompilerBase):  # type: ignore[misc]
    """numba's passes, with a library of our own."""

    def define_pipelines(self) -> list[Any]:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        kinds = [kind for kind, _ in passes.passes]
        passes.add_pass_after(TakeStepLibrary, kinds[kinds.index(NativeLowering) - 1])
        passes.finalize()
        return [passes]


def reduce_step(result: Any) -> tuple[Any, ...]:
    """What is kept on disk of a compiled step: its code, for kernels that are compiled later."""
    library = result.library
    result.fndesc.typemap = result.fndesc.calltypes = None  # not needed any more, and not all of it can be pickled
    code = library._get_module_for_linking().as_bitcode()
    return library.name, code, result.fndesc, result.environment, result.signature


def rebuild_step(context: Any, name: str, code: bytes, fndesc: Any, environment: Any, signature: Any) -> Any:
    """The step as it was when `reduce_step` took it apart."""
    library = StepLibrary(context.codegen(), name)
    library._final_module = llvm.parse_bitcode(code)
    library._finalize_final_module()
    return CompileResult(
        typing_context=context.typing_context,
        target_context=context,
        entry_point=context.get_executable(library, fndesc, environment),
        typing_error=None,
        type_annotation="",
        signature=signature,
        objectmode=False,
        lifted=(),
        fndesc=fndesc,
        library=library,
        call_helper=None,
        environment=environment,
        metadata=None,
        reload_init=(),
        referenced_envs=(),
    )
