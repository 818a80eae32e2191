// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroWire

extension ResponseBody {
  /// The lines of the body as they arrive, each of at most 1 MiB, like ``lines(maximumBytes:)``.
  ///
  /// ```swift
  /// for try await line in try await stack.stream(.get("https://example.com/log")).value.lines { … }
  /// ```
  public var lines: some AsyncSequence<String, TransportError> & Sendable { lines(maximumBytes: 1 << 20) }

  /// Returns the lines of the body as they arrive.
  ///
  /// Lines end in LF or CRLF, which are not part of the text; the last line may have no terminator. Empty lines are
  /// returned too. Bytes that are not UTF-8 become U+FFFD. The sequence is the body's only reader, and reads no more
  /// than the loop consumes. Leaving the loop and releasing the body closes the connection, and so does cancelling the
  /// task.
  ///
  /// The sequence throws the errors of reading the body, and never returns a partial line before that. A line over the
  /// limit throws stage `limit`, code `event_too_large`, and cancels the body.
  ///
  /// - Parameter maximumBytes: the maximum size of a line, without its terminator.
  public func lines(maximumBytes: Int) -> some AsyncSequence<String, TransportError> & Sendable {
    TextLines(body: self, maximumBytes: maximumBytes)
  }
}

/// The lines of a body as texts, as `lines(maximumBytes:)` of a `ResponseBody` describes them.
package struct TextLines: AsyncSequence, Sendable {
  /// The type of a line.
  package typealias Element = String
  /// The error that ends the sequence.
  package typealias Failure = TransportError

  let body: ResponseBody
  let maximumBytes: Int

  /// An iterator over lines, for one task at a time.
  package struct AsyncIterator: AsyncIteratorProtocol {
    private let body: ResponseBody
    private var chunks: ResponseBody.AsyncIterator
    private var cutter: LineCutter
    private var isOver = false

    fileprivate init(_ lines: TextLines) {
      body = lines.body
      chunks = body.makeAsyncIterator()
      cutter = LineCutter(maximumBytes: lines.maximumBytes, endsAtReturn: false)
    }

    /// Returns the next line; `nil` at the end, and after an error.
    ///
    /// - Throws: `TransportError`, as described for ``TextLines``.
    package mutating func next() async throws(TransportError) -> String? { try await next(isolation: nil) }

    /// Returns the next line; `nil` at the end, and after an error.
    ///
    /// - Throws: `TransportError`, as described for ``TextLines``.
    package mutating func next(isolation actor: isolated (any Actor)?) async throws(TransportError) -> String? {
      while !isOver {
        if let line = try cut() { return Self.text(line) }
        guard let chunk = try await chunk() else {
          isOver = true
          let rest = cutter.takeRest()
          return rest.isEmpty ? nil : Self.text(rest)
        }
        cutter.feed(chunk)
      }
      return nil
    }

    private mutating func chunk() async throws(TransportError) -> [UInt8]? {
      do throws(TransportError) {
        return try await chunks.next().map { Array($0) }
      } catch {
        isOver = true
        throw error
      }
    }

    private mutating func cut() throws(TransportError) -> ArraySlice<UInt8>? {
      do throws(LineCutter.LineTooLong) {
        return try cutter.next()
      } catch {
        isOver = true
        let failure = TransportError.lineTooLong(error.maximum)
        body.finish(failing: failure)
        throw body.named(failure)
      }
    }

    private static func text(_ line: ArraySlice<UInt8>) -> String {
      String(decoding: line.last == 0x0D ? line.dropLast() : line, as: UTF8.self)
    }
  }

  /// Creates an iterator. A body has one reader: a second iterator continues where the first stopped.
  package func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }
}

extension TransportError {
  static func lineTooLong(_ limit: Int) -> Self {
    Self(
      stage: .limit, code: .eventTooLarge, message: "a line of the body is longer than \(limit.counted("byte"))",
      hint: "raise lines(maximumBytes:), or check whether the body is text", requestSent: true)
  }
}
