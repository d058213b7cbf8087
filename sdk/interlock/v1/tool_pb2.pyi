import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from interlock.v1 import decision_pb2 as _decision_pb2
from interlock.v1 import undo_pb2 as _undo_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class TruncationStrategy(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TRUNCATION_STRATEGY_UNSPECIFIED: _ClassVar[TruncationStrategy]
    TRUNCATION_STRATEGY_HEAD: _ClassVar[TruncationStrategy]
    TRUNCATION_STRATEGY_HEAD_TAIL: _ClassVar[TruncationStrategy]
    TRUNCATION_STRATEGY_TABLE: _ClassVar[TruncationStrategy]

class PinState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PIN_STATE_UNSPECIFIED: _ClassVar[PinState]
    PIN_STATE_PINNED: _ClassVar[PinState]
    PIN_STATE_CHANGED: _ClassVar[PinState]
    PIN_STATE_UNCONFIRMED: _ClassVar[PinState]
    PIN_STATE_FOLLOWED: _ClassVar[PinState]
TRUNCATION_STRATEGY_UNSPECIFIED: TruncationStrategy
TRUNCATION_STRATEGY_HEAD: TruncationStrategy
TRUNCATION_STRATEGY_HEAD_TAIL: TruncationStrategy
TRUNCATION_STRATEGY_TABLE: TruncationStrategy
PIN_STATE_UNSPECIFIED: PinState
PIN_STATE_PINNED: PinState
PIN_STATE_CHANGED: PinState
PIN_STATE_UNCONFIRMED: PinState
PIN_STATE_FOLLOWED: PinState

class ToolDefinition(_message.Message):
    __slots__ = ("name", "aliases", "title", "description", "input_schema", "output_schema", "metadata", "capability", "result_limits", "timeout", "prompt_snippet", "prompt_guidelines")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ALIASES_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    INPUT_SCHEMA_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_SCHEMA_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    CAPABILITY_FIELD_NUMBER: _ClassVar[int]
    RESULT_LIMITS_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    PROMPT_SNIPPET_FIELD_NUMBER: _ClassVar[int]
    PROMPT_GUIDELINES_FIELD_NUMBER: _ClassVar[int]
    name: str
    aliases: _containers.RepeatedScalarFieldContainer[str]
    title: str
    description: str
    input_schema: bytes
    output_schema: bytes
    metadata: ToolMetadata
    capability: ToolCapability
    result_limits: ResultLimits
    timeout: _duration_pb2.Duration
    prompt_snippet: str
    prompt_guidelines: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, name: _Optional[str] = ..., aliases: _Optional[_Iterable[str]] = ..., title: _Optional[str] = ..., description: _Optional[str] = ..., input_schema: _Optional[bytes] = ..., output_schema: _Optional[bytes] = ..., metadata: _Optional[_Union[ToolMetadata, _Mapping]] = ..., capability: _Optional[_Union[ToolCapability, _Mapping]] = ..., result_limits: _Optional[_Union[ResultLimits, _Mapping]] = ..., timeout: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., prompt_snippet: _Optional[str] = ..., prompt_guidelines: _Optional[_Iterable[str]] = ...) -> None: ...

class ToolMetadata(_message.Message):
    __slots__ = ("concurrency_safe", "read_only", "destructive", "open_world", "permission_class", "audit_operation", "requires_checkpoint", "requires_reverse_thinking", "search_hint", "knows_workdir")
    CONCURRENCY_SAFE_FIELD_NUMBER: _ClassVar[int]
    READ_ONLY_FIELD_NUMBER: _ClassVar[int]
    DESTRUCTIVE_FIELD_NUMBER: _ClassVar[int]
    OPEN_WORLD_FIELD_NUMBER: _ClassVar[int]
    PERMISSION_CLASS_FIELD_NUMBER: _ClassVar[int]
    AUDIT_OPERATION_FIELD_NUMBER: _ClassVar[int]
    REQUIRES_CHECKPOINT_FIELD_NUMBER: _ClassVar[int]
    REQUIRES_REVERSE_THINKING_FIELD_NUMBER: _ClassVar[int]
    SEARCH_HINT_FIELD_NUMBER: _ClassVar[int]
    KNOWS_WORKDIR_FIELD_NUMBER: _ClassVar[int]
    concurrency_safe: bool
    read_only: bool
    destructive: bool
    open_world: bool
    permission_class: str
    audit_operation: str
    requires_checkpoint: bool
    requires_reverse_thinking: bool
    search_hint: str
    knows_workdir: bool
    def __init__(self, concurrency_safe: _Optional[bool] = ..., read_only: _Optional[bool] = ..., destructive: _Optional[bool] = ..., open_world: _Optional[bool] = ..., permission_class: _Optional[str] = ..., audit_operation: _Optional[str] = ..., requires_checkpoint: _Optional[bool] = ..., requires_reverse_thinking: _Optional[bool] = ..., search_hint: _Optional[str] = ..., knows_workdir: _Optional[bool] = ...) -> None: ...

class ToolCapability(_message.Message):
    __slots__ = ("dry_run", "reversible", "undo_method", "undo_tool", "min_confidence", "affected_resources")
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    REVERSIBLE_FIELD_NUMBER: _ClassVar[int]
    UNDO_METHOD_FIELD_NUMBER: _ClassVar[int]
    UNDO_TOOL_FIELD_NUMBER: _ClassVar[int]
    MIN_CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    AFFECTED_RESOURCES_FIELD_NUMBER: _ClassVar[int]
    dry_run: bool
    reversible: bool
    undo_method: _undo_pb2.UndoMethod
    undo_tool: str
    min_confidence: int
    affected_resources: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, dry_run: _Optional[bool] = ..., reversible: _Optional[bool] = ..., undo_method: _Optional[_Union[_undo_pb2.UndoMethod, str]] = ..., undo_tool: _Optional[str] = ..., min_confidence: _Optional[int] = ..., affected_resources: _Optional[_Iterable[str]] = ...) -> None: ...

class ResultLimits(_message.Message):
    __slots__ = ("max_bytes", "strategy", "max_lines")
    MAX_BYTES_FIELD_NUMBER: _ClassVar[int]
    STRATEGY_FIELD_NUMBER: _ClassVar[int]
    MAX_LINES_FIELD_NUMBER: _ClassVar[int]
    max_bytes: int
    strategy: TruncationStrategy
    max_lines: int
    def __init__(self, max_bytes: _Optional[int] = ..., strategy: _Optional[_Union[TruncationStrategy, str]] = ..., max_lines: _Optional[int] = ...) -> None: ...

class ListedTool(_message.Message):
    __slots__ = ("definition", "classification", "safety_hints", "pin_state", "provider")
    DEFINITION_FIELD_NUMBER: _ClassVar[int]
    CLASSIFICATION_FIELD_NUMBER: _ClassVar[int]
    SAFETY_HINTS_FIELD_NUMBER: _ClassVar[int]
    PIN_STATE_FIELD_NUMBER: _ClassVar[int]
    PROVIDER_FIELD_NUMBER: _ClassVar[int]
    definition: ToolDefinition
    classification: _decision_pb2.Classification
    safety_hints: _containers.RepeatedScalarFieldContainer[str]
    pin_state: PinState
    provider: str
    def __init__(self, definition: _Optional[_Union[ToolDefinition, _Mapping]] = ..., classification: _Optional[_Union[_decision_pb2.Classification, _Mapping]] = ..., safety_hints: _Optional[_Iterable[str]] = ..., pin_state: _Optional[_Union[PinState, str]] = ..., provider: _Optional[str] = ...) -> None: ...

class ToolMatch(_message.Message):
    __slots__ = ("name", "title", "description", "classification", "score")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    CLASSIFICATION_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    name: str
    title: str
    description: str
    classification: _decision_pb2.Classification
    score: float
    def __init__(self, name: _Optional[str] = ..., title: _Optional[str] = ..., description: _Optional[str] = ..., classification: _Optional[_Union[_decision_pb2.Classification, _Mapping]] = ..., score: _Optional[float] = ...) -> None: ...

class ToolChoice(_message.Message):
    __slots__ = ("required_tool",)
    REQUIRED_TOOL_FIELD_NUMBER: _ClassVar[int]
    required_tool: str
    def __init__(self, required_tool: _Optional[str] = ...) -> None: ...
