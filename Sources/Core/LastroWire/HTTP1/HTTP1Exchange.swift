// SPDX-License-Identifier: Apache-2.0

/// A request and its response on one HTTP/1.1 connection: what to write, what to read, and whether the connection can
/// be reused (RFC 9112). Two halves run concurrently, so that a response may arrive while the body is still being sent.
///
/// The machine has no buffers, no clock and no connection. Its caller, the shell, reports what happened and then reads
/// ``writing``, ``timer`` and ``connection``. These are states, not events: the shell may read them at any time, and
/// must do so after each call. Received bytes are parsed with ``next(in:at:)``. `HTTP1ExchangeTableTests` contains the
/// table of states and events.
///
/// A shell that cannot tell how much of a failed or pending write was accepted calls ``wroteSome()`` before it writes.
///
/// A GET whose head is sent with one `send`:
/// ```swift
/// var exchange = HTTP1Exchange(.none, resembling: host.latest)
/// exchange.started()
/// guard send(head) == head.count else { … }  // part of it: exchange.wroteSome(); an error: exchange.writeFailed()
/// exchange.wroteAll()
///
/// // The socket is readable:
/// var position = 0
/// while true {
///   switch try exchange.next(in: bytes, at: &position) {  // throws HTTP1Failure: close the connection
///   case .needsMore: return  // at the connection's end: try exchange.connectionEnded(cleanly: true)
///   case .interim(let head): …  // 103, 104; not 100
///   case .head(let head): …
///   case .body(let count): deliver(bytes[position..<position + count]); exchange.markUsed(count); position += count
///   case .end: switch exchange.connection { case .reusable: pool(it); default: close(it) }; return
///   case .tunnel: return  // bytes[position...] and the connection are the caller's
///   }
/// }
/// ```
///
/// An upload from a source that provides pieces:
/// ```swift
/// var exchange = HTTP1Exchange(.chunked, expectsContinue: true)
/// exchange.started(); queue(head)  // with Transfer-Encoding: chunked and Expect: 100-continue
/// while exchange.connection == .inUse {
///   arm(exchange.timer)  // when it fires: try exchange.timerFired()
///   switch exchange.writing {
///   case .body:  // ask the source, and meanwhile read
///     switch await source.next() {
///     case .bytes(var rest):
///       while !rest.isEmpty, let piece = try exchange.sourceGave(rest.count) {  // nil: they are not wanted
///         piece.withPrefix { queue($0) }; queue(rest.prefix(piece.count)); queue(piece.suffix)
///         rest = rest.dropFirst(piece.count)
///       }
///     case .end(let trailers): if let last = try exchange.sourceEnded(trailers) { queue(last) }
///     case .failed: …  // close the connection
///     }
///   case .flushing: …  // when the queue is empty, also if it was all along: exchange.wroteAll()
///   case .awaitContinue: …  // as .flushing, once; then wait for what comes, or the timer
///   case .stopped, .broken: …  // drop the queue and the source; continue reading
///   case .head, .sent: …  // continue reading
///   }
/// }
/// ```
package struct HTTP1Exchange: Sendable {
  /// The half that sends the request.
  package enum Writing: CaseIterable, Sendable {
    /// Nothing has been sent.
    case head
    /// The head is being sent. The body waits for 100 (Continue) or for the timer.
    case awaitContinue
    /// The source is to be read, and its bytes are to be sent.
    case body
    /// All bytes have been provided and are being sent.
    case flushing
    /// The request has been sent completely.
    case sent
    /// The server responded with a status of 300 or above before it had the whole body. The source is not to be read
    /// any more, and nothing more is sent.
    case stopped
    /// Writing has failed. A response may have arrived before, and is read.
    case broken
  }

  /// The half that receives the answer.
  package enum Reading: CaseIterable, Sendable {
    /// No byte of a response has been received.
    case waiting
    /// A head has begun, or an interim head was returned.
    case head
    /// The final head was returned.
    case body
    /// The response has ended, either at its own end or with the connection.
    case complete
    /// The response ended HTTP on this connection.
    case tunnel
  }

  /// The state of the connection.
  package enum Connection: CaseIterable, Sendable {
    /// The exchange is in progress.
    case inUse
    /// The exchange is over, and the connection may be reused.
    case reusable
    /// The exchange is over, successfully or not, and the connection must be closed.
    case toClose
    /// The exchange is over, and the caller owns the connection: after 101, or 2xx to CONNECT.
    case handedOver
  }

  /// A time limit, which ends with ``timerFired()``. The shell starts to measure when it first sees the timer.
  package enum Timer: CaseIterable, Sendable {
    /// The wait for 100 (Continue): one second, or a tenth of the exchange's time limit if that is shorter.
    case awaitContinue
    /// The wait for a response that may have been sent before writing failed, or for the rest of the request to be sent
    /// after the response is complete: 1 s. The shell restarts the timer while the connection accepts bytes, and while
    /// the source has none.
    case grace

    /// Returns the duration of the wait.
    ///
    /// - Parameter limit: the time limit of the exchange; `nil` for no limit.
    package func duration(within limit: Duration?) -> Duration {
      switch self {
      case .awaitContinue: limit.map { min(.seconds(1), $0 / 10) } ?? .seconds(1)
      case .grace: .seconds(1)
      }
    }
  }

  package enum Event: Equatable, Sendable {
    /// All bytes have been consumed; more are needed.
    case needsMore
    /// The head of an interim response other than 100, which the machine handles itself. The final response follows.
    case interim(ResponseHead)
    /// The head of the final response.
    case head(ResponseHead)
    /// The number of body bytes at the position. Call ``HTTP1Exchange/markUsed(_:)`` with the number of bytes that
    /// were used.
    case body(Int)
    /// The response is complete. ``HTTP1Exchange/connection`` shows whether the exchange is.
    case end
    /// HTTP has ended. The caller owns the connection and the bytes from the position on.
    case tunnel
  }

  let expectsContinue: Bool
  let asksToClose: Bool
  package internal(set) var writing = Writing.head
  package internal(set) var reading = Reading.waiting
  package internal(set) var connection = Connection.inUse
  var body: BodyWriter
  var reader: ResponseReader
  let framing: RequestFraming
  /// Whether the connection accepted any byte of the request.
  package internal(set) var requestSent = false
  /// Whether the head has been sent, so that the wait for 100 (Continue) begins.
  @usableFromInline var isHeadOut = false
  /// The final status; 0 before it is known.
  package internal(set) var status = 0
  /// Whether the wait for 100 (Continue) timed out. The next request to this server need not wait.
  package internal(set) var continueTimedOut = false

  /// Creates an exchange.
  ///
  /// - Parameters:
  ///   - framing: the framing of the request's body, as announced in its head.
  ///   - request: the kind of request. Default: neither HEAD, CONNECT nor an upgrade.
  ///   - expectsContinue: whether the head has `Expect: 100-continue`. It has no effect without a body.
  ///   - asksToClose: whether the head has `Connection: close`.
  ///   - limits: the limits of the response.
  ///   - latest: the same server's latest head. It does not affect the result, only the cost of parsing.
  package init(
    _ framing: RequestFraming, to request: ResponseReader.Request = .ordinary, expectsContinue: Bool = false,
    asksToClose: Bool = false, limits: ExchangeLimits = ExchangeLimits(), resembling latest: KnownHead? = nil
  ) {
    self.framing = framing
    self.expectsContinue = expectsContinue && framing.hasBody
    self.asksToClose = asksToClose
    body = BodyWriter(framing)
    reader = ResponseReader(to: request, limits: limits, resembling: latest)
  }

  /// The timer that is running, if any.
  // Inlinable because callers would otherwise copy the whole machine to read it.
  @inlinable package var timer: Timer? {
    guard connection == .inUse else { return nil }
    switch writing {
    case .awaitContinue: return isHeadOut ? .awaitContinue : nil
    case .broken: return reading == .waiting || reading == .head ? .grace : nil
    case .body, .flushing: return reading == .complete ? .grace : nil
    case .head, .sent, .stopped: return nil
    }
  }

  /// Whether the connection can be reused if this exchange succeeds. It is valid once the head was returned.
  package var mayKeepConnection: Bool { !asksToClose && reader.mayKeepConnection }

  /// Whether the server rejects `Expect` (417). The request may be sent again without it if its body can be replayed.
  package var refusesExpect: Bool { expectsContinue && status == 417 }

  /// The framing of the response's body. It is valid once the head was returned.
  package internal(set) var responseFraming = ResponseFraming()

  /// The trailers of the response, once it is complete.
  package var trailers: [ResponseHead.Field] { reader.trailers }

  /// Returns the final head for the next exchange with the same server, once. `nil` if it cannot be kept.
  package mutating func takeKnown() -> KnownHead? { reader.takeKnown() }
}
