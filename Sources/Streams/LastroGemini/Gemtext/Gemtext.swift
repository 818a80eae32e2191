// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroWire

extension GeminiBody {
  /// The lines of a body of gemtext as they arrive, with the body's back-pressure and errors. If an error cuts a line
  /// short, the partial line is returned before the error is thrown.
  public var gemtext: some AsyncSequence<GemtextLine, GeminiError> & Sendable { GemtextLines(self) }
}
