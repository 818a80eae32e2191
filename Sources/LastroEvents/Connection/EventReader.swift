// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Lastro
internal import LastroSupport
internal import LastroWire

/// Reads the events of one connection after another.
struct EventReader<APIError: Error>: Sendable {
  private struct Connection: Sendable {
    var response: ResourceResponse
    var body: BodyReader
    var machine: EventStreamMachine
  }

  let call: StreamCall<APIError>
  let options: EventStreamOptions
  let endsAtClose: Bool
  private let lease: EventLease
  private let facts = Lock<StreamFacts?>(nil)
  /// When the first connection was begun.
  private var start: Duration?
  private var connection: Connection?
  private var lastEventID: String
  private var schedule = ReconnectionSchedule()
  private var isOver = false

  init(_ stream: EventStream<APIError>) {
    call = stream.call
    options = stream.options
    endsAtClose = stream.endsAtClose
    lease = EventLease(stream.board)
    lastEventID = stream.options.lastEventID
  }

  private var time: TimeSource { call.configuration.timeSource }

  /// The answer of the connection that is open, or was last.
  var response: ResourceResponse? { lease.board.read(\.response) }

  mutating func next() async throws(HTTPFetchError<APIError>) -> ServerSentEvent? {
    guard !isOver else { return nil }
    do throws(HTTPFetchError<APIError>) {
      if let event = try await find() { return event }
    } catch {
      end()
      throw error
    }
    end()
    return nil
  }

  /// Ends it, and its connection.
  mutating func end() {
    isOver = true
    connection?.body.cancel()
    connection = nil
    lease.end()
  }

  private mutating func find() async throws(HTTPFetchError<APIError>) -> ServerSentEvent? {
    while true {
      let loss: HTTPFetchError<APIError>?
      do throws(HTTPFetchError<APIError>) {
        if connection == nil, try await !connect() { return nil }
        if let event = try await read() { return event }
        loss = nil
      } catch {
        loss = error
      }
      connection = nil
      if let loss, !loss.mayPass { throw loss }
      guard let failures = reconnections, loss != nil || !endsAtClose else {
        if let loss { throw loss }
        return nil
      }
      try await pause(after: loss, limit: failures)
    }
  }
}

// MARK: a connection

extension EventReader {
  /// False where the server says that there is nothing more.
  private mutating func connect() async throws(HTTPFetchError<APIError>) -> Bool {
    do throws(TransportError) { try options.check() } catch { throw HTTPFetchError(.noRequest(error)) }
    start = start ?? time.now()
    // A wait may have ended late.
    if let left = timeLeft, left <= .zero { throw outOfTime }
    lease.board.change { $0.post(.connecting) }
    let id = lastEventID
    let answer = try await call.open(firstByte: options.firstEvent, left: timeLeft, facts: facts) {
      $0.askForEvents(after: id)
    }
    if answer.response.status == .noContent { return false }
    do throws(TransportError) {
      try answer.response.checkHasEvents()
    } catch {
      answer.body.cancel()
      throw HTTPFetchError(error, of: answer.response)
    }
    connection = Connection(
      response: answer.response, body: answer.body,
      machine: EventStreamMachine(limits: options.limits, lastEventID: id))
    lease.board.change { board in
      board.response = answer.response
      board.post(.open)
    }
    return true
  }

  /// The next event of the connection; `nil` when it has ended.
  private mutating func read() async throws(HTTPFetchError<APIError>) -> ServerSentEvent? {
    guard let response = connection?.response else { return nil }
    while true {
      if let event = try takeEvent(response) { return event }
      do throws(TransportError) {
        guard let bytes = try await connection?.body.next() else { return nil }
        connection?.machine.feed(bytes)
      } catch {
        throw HTTPFetchError(error, of: response)
      }
    }
  }

  private mutating func takeEvent(_ response: ResourceResponse) throws(HTTPFetchError<APIError>) -> ServerSentEvent? {
    defer {
      if let id = connection?.machine.lastEventID { lastEventID = id }
      if let milliseconds = connection?.machine.retry { schedule.set(milliseconds: milliseconds) }
    }
    do throws(EventStreamMachine.Violation) {
      guard let event = try connection?.machine.next() else { return nil }
      schedule.noteEvent()
      return ServerSentEvent(event)
    } catch {
      connection?.body.cancel()
      throw HTTPFetchError(.tooLarge(error), of: response)
    }
  }
}

// MARK: between connections

extension EventReader {
  /// How many connections in a row may bring no event; `nil` where it is not connected anew.
  private var reconnections: Int? {
    switch options.reconnection {
    case .never: nil
    case .always(let failures): failures ?? .max
    case .byMethod: facts.withLock { $0?.method } == .get ? 20 : nil
    }
  }

  /// What is left of the total timeout; `nil` before the first request, which says it itself, and without one.
  private var timeLeft: Duration? {
    guard let start, let total = facts.withLock({ $0?.timeouts.total }) else { return nil }
    return total - (time.now() - start)
  }

  /// Waits until it is time for the next connection.
  private mutating func pause(
    after loss: HTTPFetchError<APIError>?, limit: Int
  ) async throws(HTTPFetchError<APIError>) {
    var wait = schedule.wait(random: call.configuration.randomSource.unit())
    guard schedule.losses <= limit else { throw loss ?? failure(.endedTooOften(limit)) }
    if let fields = loss?.response?.headerFields, let asked = RetryAfter.wait(fields, sinceEpoch: time.sinceEpoch) {
      if let loss, asked > call.configuration.maximumRetryAfter { throw loss }
      wait = max(wait, asked)
    }
    if let left = timeLeft, wait >= left { throw loss ?? (left > .zero ? tooLate(wait) : outOfTime) }
    let reason = loss.map { EventStreamState.Loss.failed($0.erased.withoutBody) } ?? .ended
    lease.board.change { $0.post(.waiting(for: wait, because: reason)) }
    do {
      if wait > .zero { try await time.sleep(wait) }
    } catch {
      throw HTTPFetchError(.cancelled, response: response, attempts: response?.attempts ?? [])
    }
  }

  /// The failure when the next connection would begin after the total timeout, which has not passed yet.
  private func tooLate(_ wait: Duration) -> HTTPFetchError<APIError> {
    let total = facts.withLock { $0?.timeouts.total }
    return failure(.connectionTooLate(after: wait, total: total ?? wait))
  }

  private var outOfTime: HTTPFetchError<APIError> {
    let total = facts.withLock { $0?.timeouts.total }
    return failure(.deadlinePassed(.totalTimeout, of: total, "before the next connection", requestSent: true))
  }

  private func failure(_ error: TransportError) -> HTTPFetchError<APIError> {
    HTTPFetchError(error, of: response)
  }
}
