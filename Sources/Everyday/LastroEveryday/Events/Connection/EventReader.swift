// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
internal import HTTPTypes
internal import Lastro
internal import LastroSupport
internal import LastroWire

/// Reads events from a series of connections.
struct EventReader<APIError: Error>: Sendable {
  let call: StreamCall<APIError>
  let options: EventStreamOptions
  private var endsAtClose: Bool
  /// The end mark, as an error names it; a stream that ends without its mark is a failure.
  private var endMark: String?
  /// The events by which the API reports an error, which are thrown.
  private var failureEvent: EventMark
  private let lease: EventLease
  private let facts = Lock<EventRequestFacts?>(nil)
  /// The time at which the first connection was begun.
  private var start: Duration?
  /// The connection that is open, or was open last.
  private(set) var stream: OpenStream<APIError>?
  /// The parser of the open connection; `nil` between connections.
  private var machine: EventStreamMachine?
  private var lastEventID: String
  private var schedule = ReconnectionSchedule()
  /// The time from which on the client certificate is checked again.
  private var nextIdentityCheck = Duration.zero
  /// The wait before the connection that replaces an outdated one; `nil` if the connection was not ended for that.
  private var replacementWait: Duration?
  private var isOver = false

  /// - Parameters:
  ///   - source: the connections of the stream.
  ///   - endMark: the mark without which the end is a failure. Default `nil`: no mark is needed.
  ///   - failureEvent: the events that report an error of the API. Default: none.
  init(_ source: EventSource<APIError>, endMark: String? = nil, failureEvent: EventMark = .none) {
    self.endMark = endMark
    self.failureEvent = failureEvent
    call = source.call
    options = source.options
    endsAtClose = source.endsAtClose
    lease = EventLease(source.board)
    lastEventID = source.options.lastEventID
  }

  private var time: TimeSource { call.configuration.timeSource }

  mutating func next() async throws(HTTPFetchError<APIError>) -> ServerSentEvent? {
    guard !isOver else { return nil }
    do throws(HTTPFetchError<APIError>) {
      let found = try await find()
      if let fault = fault(in: found) { throw fault }
      if let found { return found }
    } catch {
      end()
      throw error
    }
    end()
    return nil
  }

  /// Applies other marks to a stream that is open, and checks its first event by them.
  ///
  /// - Parameters:
  ///   - end: the end mark.
  ///   - failure: the events that report an error of the API.
  ///   - first: the event that was read when the stream was opened; `nil` if it ended without one.
  /// - Returns: the failure that the event or the options are by these marks, after which the stream has ended; `nil` if
  ///   there is none.
  // It does not throw, nor does fault(in:): the optimizer of Swift 6.3.1 fails on a function that takes an event and
  // throws a generic error type.
  mutating func apply(
    until end: EventMark, failure: EventMark, toFirst first: ServerSentEvent?
  ) -> HTTPFetchError<APIError>? {
    (endMark, failureEvent, endsAtClose) = (end.text, failure, end == .close)
    var found: HTTPFetchError<APIError>?
    do throws(HTTPFetchError<APIError>) { try checkOptions() } catch { found = error }
    found = found ?? fault(in: first)
    if found != nil { self.end() }
    return found
  }

  /// Returns the failure that an event reports, or that the end is without its mark; `nil` for other events and ends.
  private func fault(in event: ServerSentEvent?) -> HTTPFetchError<APIError>? {
    if let event { return failureEvent.matches(event) ? apiFailure(event) : nil }
    return endMark.map { failure(.cutBeforeEnd($0)) }
  }

  private func checkOptions() throws(HTTPFetchError<APIError>) {
    do throws(TransportError) {
      try options.check()
      try failureEvent.checkReportsErrors()
    } catch {
      throw HTTPFetchError(.noRequest(error))
    }
  }

  /// Ends the reading and closes the connection. Its body counts as complete, unless a failure was found before.
  mutating func end() {
    isOver = true
    stream?.body.finish()
    machine = nil
    lease.end()
  }

  private mutating func find() async throws(HTTPFetchError<APIError>) -> ServerSentEvent? {
    while true {
      let loss: HTTPFetchError<APIError>?
      do throws(HTTPFetchError<APIError>) {
        if machine == nil, try await !connect() { return nil }
        if let event = try await read() { return event }
        loss = nil
      } catch {
        loss = error
      }
      machine = nil
      if let loss, !loss.mayPass { throw loss }
      guard let failures = reconnections, loss != nil || !endsAtClose else {
        if let loss { throw loss }
        return nil
      }
      // An orderly end is not a failure if another connection follows.
      stream?.body.finish()
      if let wait = replacementWait.take() {
        try await rest(wait, because: nil)
      } else {
        try await pause(after: loss, limit: failures)
      }
    }
  }
}

// MARK: a connection

extension EventReader {
  /// Opens a connection. Returns false if the server says that there are no more events (204).
  private mutating func connect() async throws(HTTPFetchError<APIError>) -> Bool {
    try checkOptions()
    start = start ?? time.now()
    // The wait before this connection may have taken longer than intended.
    if let left = timeLeft, left <= .zero { throw outOfTime }
    lease.board.change { $0.post(.connecting) }
    let id = lastEventID
    let answer = try await call.open(first: options.firstElement, left: timeLeft, facts: facts) {
      $0.askForEvents(after: id)
    }
    stream = answer
    if answer.response.status == .noContent { return false }
    do throws(TransportError) {
      try answer.response.checkHasEvents()
    } catch {
      throw answer.failure(error)
    }
    machine = EventStreamMachine(limits: options.limits, lastEventID: id)
    lease.board.change { board in
      board.response = answer.response
      board.post(.open)
    }
    return true
  }

  /// Returns the next event of the connection; `nil` once it has ended.
  private mutating func read() async throws(HTTPFetchError<APIError>) -> ServerSentEvent? {
    while true {
      if let event = try takeEvent() { return event }
      if mustReplaceConnection() { return nil }
      do throws(TransportError) {
        guard let bytes = try await stream?.body.next() else { return nil }
        machine?.feed(bytes)
      } catch {
        throw failure(error)
      }
    }
  }

  private mutating func takeEvent() throws(HTTPFetchError<APIError>) -> ServerSentEvent? {
    defer {
      if let id = machine?.lastEventID { lastEventID = id }
      if let milliseconds = machine?.retry { schedule.set(milliseconds: milliseconds) }
    }
    do throws(EventStreamMachine.Violation) {
      guard let event = try machine?.next() else { return nil }
      schedule.resetLosses()
      stream?.body.endFirstElementLimit()
      return ServerSentEvent(event)
    } catch {
      throw failure(.tooLarge(error))
    }
  }

  /// Ends the latest connection with the API's error that an event reports, and returns the error to throw.
  private func apiFailure(_ event: ServerSentEvent) -> HTTPFetchError<APIError> {
    let data = Data(event.data.utf8)
    guard let stream else { return HTTPFetchError(.cancelled) }
    let apiError = try? call.resource.errorDecoding.decode(data, stream.response)
    return stream.failure(.http(stream.response.status, apiError), about: data, cause: .failureEvent)
  }

  /// Ends the latest connection with a failure, and returns the error to throw.
  private func failure(_ error: TransportError) -> HTTPFetchError<APIError> {
    stream?.failure(error) ?? HTTPFetchError(between: error, after: nil)
  }
}

// MARK: between connections

extension EventReader {
  /// The number of consecutive connections that may bring no event; `nil` if the stream does not reconnect.
  private var reconnections: Int? {
    if let maximum = options.maximumReconnections { return maximum > 0 ? maximum : nil }
    return facts.withLock { $0?.method } == .get ? 20 : nil
  }

  /// The rest of the total timeout; `nil` before the first request, which determines it, and without a total timeout.
  private var timeLeft: Duration? {
    guard let start, let total = facts.withLock({ $0?.timeouts.total }) else { return nil }
    return total - (time.now() - start)
  }

  /// Waits until the next connection is due.
  private mutating func pause(
    after loss: HTTPFetchError<APIError>?, limit: Int
  ) async throws(HTTPFetchError<APIError>) {
    var wait = schedule.wait(random: call.configuration.randomSource.unit())
    guard schedule.losses <= limit else { throw loss ?? between(.endedTooOften(limit)) }
    if let fields = loss?.response?.headerFields, let asked = RetryAfter.wait(fields, sinceEpoch: time.sinceEpoch) {
      if let loss, asked > call.configuration.maximumRetryAfter { throw loss }
      wait = max(wait, asked)
    }
    if let left = timeLeft, wait >= left { throw loss ?? (left > .zero ? tooLate(wait) : outOfTime) }
    try await rest(wait, because: loss?.erased.bodiless)
  }

  /// Waits before the next connection, and reports that.
  private func rest(
    _ wait: Duration, because reason: HTTPFetchError<any Error>?
  ) async throws(HTTPFetchError<APIError>) {
    lease.board.change { $0.post(.waiting(for: wait, because: reason)) }
    do {
      if wait > .zero { try await time.sleep(wait) }
    } catch {
      throw between(.cancelled(requestSent: true))
    }
  }

  /// Returns the error for a next connection that would begin after the total timeout, which has not passed yet.
  private func tooLate(_ wait: Duration) -> HTTPFetchError<APIError> {
    let total = facts.withLock { $0?.timeouts.total }
    return between(.connectionTooLate(after: wait, total: total ?? wait))
  }

  private var outOfTime: HTTPFetchError<APIError> {
    let total = facts.withLock { $0?.timeouts.total }
    return between(.deadlinePassed(.totalTimeout, of: total, "before the next connection", requestSent: true))
  }

  private func between(_ error: TransportError) -> HTTPFetchError<APIError> {
    HTTPFetchError(between: error, after: stream?.response)
  }
}

// MARK: client certificates

extension EventReader {
  /// The interval between checks of the client certificate.
  private static var identityInterval: Duration { .seconds(5) }

  /// Returns whether to end the connection between two events and open another, because the client certificate has
  /// changed. Only a stream that can continue after an identifier does so: no event is lost.
  private mutating func mustReplaceConnection() -> Bool {
    guard !lastEventID.isEmpty, !endsAtClose, reconnections != nil,
      let facts = facts.withLock({ $0 }), !facts.identityRevisions.isEmpty
    else { return false }
    let now = time.now()
    guard now >= nextIdentityCheck else { return false }
    nextIdentityCheck = now + Self.identityInterval
    let wait = schedule.replacementWait(random: call.configuration.randomSource.unit())
    // A connection that would begin too late would end the stream early.
    if let left = timeLeft, left <= wait { return false }
    guard call.identityRevisions(for: facts.connection) != facts.identityRevisions else { return false }
    replacementWait = wait
    return true
  }
}
