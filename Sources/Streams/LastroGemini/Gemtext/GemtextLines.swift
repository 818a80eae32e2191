// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Lastro
internal import LastroWire

/// The lines of a body as they arrive; see ``GeminiResponse/gemtext``.
struct GemtextLines: AsyncSequence, Sendable {
  typealias Element = GemtextLine
  typealias Failure = GeminiError

  /// The length beyond which a line is split into several.
  private static let maximumLineBytes = 65_536

  let body: GeminiBody

  func makeAsyncIterator() -> AsyncIterator { AsyncIterator(body) }

  struct AsyncIterator: AsyncIteratorProtocol {
    private var bytes: GeminiBody.AsyncIterator
    private var machine = GemtextMachine(maximumLineBytes: GemtextLines.maximumLineBytes)
    private var lines: ArraySlice<GemtextMachine.Line> = []
    private var hasEnded = false
    private var failure: GeminiError?

    fileprivate init(_ body: GeminiBody) { bytes = body.makeAsyncIterator() }

    mutating func next() async throws(GeminiError) -> GemtextLine? { try await next(isolation: #isolation) }

    mutating func next(isolation actor: isolated (any Actor)?) async throws(GeminiError) -> GemtextLine? {
      while true {
        if let line = lines.popFirst() { return GemtextLine(line) }
        if let failure { throw failure }
        if hasEnded { return nil }
        do throws(GeminiError) {
          let piece = try await bytes.next(isolation: actor)
          hasEnded = piece == nil
          read(piece)
        } catch {
          // Neither error ends the document: reading may continue.
          guard error.code != .cancelled, error.code != .operationInProgress else { throw error }
          failure = error
          read(nil)
        }
      }
    }

    /// - Parameter piece: the next piece; `nil` at the end.
    private mutating func read(_ piece: Data?) {
      var found: [GemtextMachine.Line] = []
      if let piece { machine.consume(piece, into: &found) } else { machine.finish(into: &found) }
      lines = found[...]
    }
  }
}
