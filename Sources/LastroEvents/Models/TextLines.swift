// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroWire

extension ResponseBody {
  /// The lines of the body as texts, each of 1 MiB at most, while they come.
  ///
  /// ```swift
  /// for try await line in try await stack.stream(.get("https://example.com/log")).value.lines { … }
  /// ```
  public var lines: TextLines { lines(maximumBytes: 1 << 20) }

  /// The lines of the body as texts, while they come.
  ///
  /// - Parameter maximumBytes: of one line, without its end.
  public func lines(maximumBytes: Int) -> TextLines { TextLines(body: self, maximumBytes: maximumBytes) }
}

/// The lines of a body as texts: what `lines` of a `ResponseBody` makes.
///
/// A line ends in LF or CRLF, of which neither is in the text; the last may have no end. Empty lines are given too.
/// Bytes that are not UTF-8 become U+FFFD. It reads the body, which has one reader, and no more of it than is taken.
/// Leaving the loop and dropping the body ends the connection, and so does cancelling the task.
///
/// It throws what reading the body throws, and never half a line before that; and for a line over its limit stage
/// `limit`, code `event_too_large`, whereupon the body is cancelled.
public struct TextLines: AsyncSequence, Sendable {
  /// A line.
  public typealias Element = String
  /// Why there are no more.
  public typealias Failure = TransportError

  let body: ResponseBody
  let maximumBytes: Int

  /// Reads lines; for one task at a time.
  public struct AsyncIterator: AsyncIteratorProtocol {
    private let body: ResponseBody
    private var chunks: ResponseBody.AsyncIterator
    private var cutter: LineCutter
    private var isOver = false

    fileprivate init(_ lines: TextLines) {
      body = lines.body
      chunks = body.makeAsyncIterator()
      cutter = LineCutter(maximumBytes: lines.maximumBytes, endsAtReturn: false)
    }

    /// The next line; `nil` at the end, and after an error.
    ///
    /// - Throws: `TransportError`, as ``TextLines`` tells.
    public mutating func next() async throws(TransportError) -> String? { try await next(isolation: nil) }

    /// The next line; `nil` at the end, and after an error.
    ///
    /// - Throws: `TransportError`, as ``TextLines`` tells.
    public mutating func next(isolation actor: isolated (any Actor)?) async throws(TransportError) -> String? {
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
        throw failure
      }
    }

    private static func text(_ line: ArraySlice<UInt8>) -> String {
      String(decoding: line.last == 0x0D ? line.dropLast() : line, as: UTF8.self)
    }
  }

  /// Makes the iterator. A body has one reader: a second one sees what the first left.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }
}

extension TransportError {
  static func lineTooLong(_ limit: Int) -> Self {
    Self(
      stage: .limit, code: .eventTooLarge, message: "a line of the body is longer than \(limit.counted("byte"))",
      hint: "give lines(maximumBytes:) more, or look whether the body is text", requestSent: true)
  }
}
