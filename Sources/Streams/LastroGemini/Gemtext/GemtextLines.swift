// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroWire

/// The lines of a body as they arrive, with its back-pressure and its errors. If an error cuts a line short, the
/// partial line is returned before the error is thrown.
package struct GemtextLines: AsyncSequence, Sendable {
  /// A line.
  package typealias Element = GemtextLine
  /// The error that prevented the rest from being read.
  package typealias Failure = GeminiError

  private let body: GeminiBody

  init(_ body: GeminiBody) { self.body = body }

  /// An iterator over the lines.
  package struct AsyncIterator: AsyncIteratorProtocol {
    private var bytes: GeminiBody.AsyncIterator
    private var parser = GemtextParser()
    private var lines: ArraySlice<GemtextLine> = []
    private var hasEnded = false
    private var failure: GeminiError?

    fileprivate init(_ body: GeminiBody) { bytes = body.makeAsyncIterator() }

    /// Returns the next line, or `nil` at the end.
    ///
    /// - Throws: ``GeminiError``: the reason why the rest cannot be read, after the line that was cut short.
    package mutating func next() async throws(GeminiError) -> GemtextLine? { try await next(isolation: #isolation) }

    /// Returns the next line, or `nil` at the end.
    ///
    /// - Throws: ``GeminiError``: the reason why the rest cannot be read, after the line that was cut short.
    package mutating func next(isolation actor: isolated (any Actor)?) async throws(GeminiError) -> GemtextLine? {
      while true {
        if let line = lines.popFirst() { return line }
        if let failure { throw failure }
        if hasEnded { return nil }
        do throws(GeminiError) {
          if let piece = try await bytes.next(isolation: actor) {
            lines = parser.parse(piece)[...]
          } else {
            hasEnded = true
            lines = parser.finish()[...]
          }
        } catch {
          // Neither error ends the document: reading may continue.
          guard error.code != .cancelled, error.code != .operationInProgress else { throw error }
          failure = error
          lines = parser.finish()[...]
        }
      }
    }
  }

  /// Creates the iterator. A stream has a single reader.
  package func makeAsyncIterator() -> AsyncIterator { AsyncIterator(body) }
}
