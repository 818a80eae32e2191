// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroWire

extension GeminiBody {
  /// The lines of a body of gemtext, as they arrive.
  public var gemtext: GemtextLines { GemtextLines(self) }
}
