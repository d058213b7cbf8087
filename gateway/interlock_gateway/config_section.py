"""What every part of the configuration is made of."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Seconds = Annotated[float, Field(gt=0, le=86_400)]
Bytes = Annotated[int, Field(ge=1, le=1 << 30)]


class Section(BaseModel):
    """A part of the configuration: unknown keys are refused, values are frozen."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)
