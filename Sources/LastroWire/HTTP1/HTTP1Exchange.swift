// SPDX-License-Identifier: Apache-2.0

/// One request and its answer over one HTTP/1.1 connection: what to write, what to read, and what becomes of the
/// connection (RFC 9112). Two halves run at once, so that an answer may come while the body is still sent.
///
/// The machine has no bytes, no clock and no connection. Its caller, the shell, tells it what happened, and looks
/// what follows: ``writing``, ``timer`` and ``connection`` are levels, not events, so the shell may look at them
/// when it likes, but has to after each call. Bytes that came are read with ``next(in:at:)``. The table of states
/// and events is in `HTTP1ExchangeTableTests`.
///
/// A shell that cannot tell how much a failed or pending write took says ``wroteSome()`` before it writes.
///
/// A GET, whose head goes out in one `send`:
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
///   case .body(let count): deliver(bytes[position..<position + count]); exchange.take(count); position += count
///   case .end: switch exchange.connection { case .reusable: pool(it); default: close(it) }; return
///   case .tunnel: return  // bytes[position...] and the connection are the caller's
///   }
/// }
/// ```
///
/// An upload, from a source that gives pieces:
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
///     case .failed: try exchange.sourceFailed()
///     }
///   case .flushing: …  // when the queue is empty, also if it was all along: exchange.wroteAll()
///   case .awaitContinue: …  // as .flushing, once; then wait for what comes, or the timer
///   case .stopped, .broken: …  // drop the queue and the source; go on reading
///   case .head, .sent: …  // go on reading
///   }
/// }
/// ```
package struct HTTP1Exchange: Sendable {
  /// The half that sends the request.
  package enum Writing: CaseIterable, Sendable {
    /// Nothing has begun.
    case head
    /// The head goes out; the body waits for 100, or for the timer.
    case awaitContinue
    /// The source is to be asked, and what it gives goes out.
    case body
    /// All is given, and on its way out.
    case flushing
    /// The request is out as a whole.
    case sent
    /// The server responded with a status of 300 or above before it had the body: the source is not to be asked again,
    /// and nothing more goes out.
    case stopped
    /// Writing has failed. An answer may have come before, and is read.
    case broken
  }

  /// The half that receives the answer.
  package enum Reading: CaseIterable, Sendable {
    /// No byte of an answer has come.
    case waiting
    /// A head has begun, or an interim one was given.
    case head
    /// The final head was given.
    case body
    /// The answer has ended by itself, or with the connection.
    case complete
    /// The answer ended HTTP on this connection.
    case tunnel
  }

  /// What becomes of the connection.
  package enum Connection: CaseIterable, Sendable {
    /// The exchange goes on.
    case inUse
    /// The exchange is over, and the connection may carry another.
    case reusable
    /// The exchange is over, well or not, and the connection is to be closed.
    case toClose
    /// The exchange is over, and the connection is the caller's: after 101, or 2xx to CONNECT.
    case handedOver
  }

  /// A wait that ``timerFired()`` ends. The shell measures it from when it sees it first.
  package enum Timer: CaseIterable, Sendable {
    /// For 100 (Continue): a second, or a tenth of what the exchange may take.
    case awaitContinue
    /// For an answer that may have come before writing failed, or for the rest of the request to go out when the
    /// answer is complete: 1 s. The shell starts it again while the connection takes bytes, and while the source has
    /// none.
    case grace
    /// For the rest of an answer whose reader has left: 100 ms.
    case drain

    /// - Parameter limit: how long the exchange may take; `nil` for ever.
    package func duration(within limit: Duration?) -> Duration {
      switch self {
      case .awaitContinue: limit.map { min(.seconds(1), $0 / 10) } ?? .seconds(1)
      case .grace: .seconds(1)
      case .drain: .milliseconds(100)
      }
    }
  }

  package enum Event: Equatable, Sendable {
    /// Every byte is used: more of them are needed.
    case needsMore
    /// Head of a 1xx answer but 100, which is the machine's own. The final one is still to come.
    case interim(ResponseHead)
    /// Head of the final answer.
    case head(ResponseHead)
    /// So many bytes of the body lie at the position. ``HTTP1Exchange/take(_:)`` has to be told how many were used.
    case body(Int)
    /// The answer is complete. ``HTTP1Exchange/connection`` says whether the exchange is.
    case end
    /// HTTP has ended: the connection, and the bytes from the position on, are the caller's.
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
  /// Whether the connection took any byte of the request.
  package internal(set) var requestSent = false
  /// Whether the head is out, so that the wait for 100 begins.
  @usableFromInline var isHeadOut = false
  @usableFromInline var isDraining = false
  /// The final status; 0 before.
  package internal(set) var status = 0
  /// Whether the wait for 100 ended without an answer: the next request need not wait for this server.
  package internal(set) var continueTimedOut = false

  /// - Parameters:
  ///   - framing: of the request's body, as its head announces it.
  ///   - request: what is asked. Default: neither HEAD, CONNECT nor an upgrade.
  ///   - expectsContinue: whether the head has `Expect: 100-continue`. Of no effect without a body.
  ///   - asksToClose: whether the head has `Connection: close`.
  ///   - limits: of the answer.
  ///   - latest: what was kept of the same server's latest head. It changes no verdict, only what it costs.
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

  /// The wait that runs, if any.
  // Inlinable, or its callers would copy the machine to ask it.
  @inlinable package var timer: Timer? {
    guard connection == .inUse else { return nil }
    if isDraining { return .drain }
    switch writing {
    case .awaitContinue: return isHeadOut ? .awaitContinue : nil
    case .broken: return reading == .waiting || reading == .head ? .grace : nil
    case .body, .flushing: return reading == .complete ? .grace : nil
    case .head, .sent, .stopped: return nil
    }
  }

  /// Whether the connection can carry another exchange if this one ends well; known once the head was given.
  package var mayKeepConnection: Bool { !asksToClose && reader.mayKeepConnection }

  /// Whether the server wants the request without `Expect` (417): it may be sent once again without it, if its body
  /// can.
  package var refusesExpect: Bool { expectsContinue && status == 417 }

  /// How the answer's body is delimited; known once the head was given.
  package internal(set) var responseFraming = ResponseFraming()

  /// The fields behind the last chunk of the answer, once it is complete.
  package var trailers: [ResponseHead.Field] { reader.trailers }

  /// Most bytes of the answer's body; to be changed before the body is read, if at all. Default: as the limits have
  /// it.
  package var maximumBodyBytes: Int? {
    get { reader.maximumBodyBytes }
    set { reader.maximumBodyBytes = newValue }
  }

  /// What may be kept of the final head, once: for the next exchange with the same server.
  package mutating func takeKnown() -> KnownHead? { reader.takeKnown() }
}
