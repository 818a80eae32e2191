// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import FoundationEssentials
internal import Lastro
internal import LastroSupport
internal import LastroTesting
internal import LastroTransports

/// A connection under test, with a record of its calls.
final class ConnectionSubject: Sendable {
  struct Problem: Error { var text: String }

  struct Answer: Sendable {
    var data = Data()
    var context: ConnectionContentContext?
    var isComplete = false
    var error: ConnectionError?
  }

  private struct Record {
    var states: [ConnectionState] = []
    var viability: [Bool] = []
    var calls: [String: Int] = [:]
    var order: [String] = []
    var isOffQueue = false
    var waiters: [(OneAnswer<Void>, @Sendable ([ConnectionState]) -> Bool)] = []
  }

  let connection: any Connection
  private let patience: Duration
  private let record = Lock(Record())
  private let queue = DispatchQueue(label: "lastro.conformance")
  private let key = DispatchSpecificKey<Bool>()

  init(_ connection: any Connection, patience: Duration) {
    self.connection = connection
    self.patience = patience
    queue.setSpecific(key: key, value: true)
    connection.stateUpdateHandler = { [weak self] state in self?.entered(state) }
    connection.viabilityUpdateHandler = { [weak self] isViable in
      self?.checkQueue()
      self?.record.withLock { $0.viability.append(isViable) }
    }
  }

  var states: [ConnectionState] { record.withLock { $0.states } }
  /// The states so far, as text for a finding: the description of an array would include module and type names.
  var history: String { Self.words(states) }
  var viability: [Bool] { record.withLock { $0.viability } }
  var order: [String] { record.withLock { $0.order } }

  private static func words(_ states: [ConnectionState]) -> String {
    states.map { "\($0)" }.joined(separator: ", ")
  }

  func start() { connection.start(queue: queue) }

  private func checkQueue() {
    if DispatchQueue.getSpecific(key: key) != true { record.withLock { $0.isOffQueue = true } }
  }

  private func entered(_ state: ConnectionState) {
    checkQueue()
    let met = record.withLock { record in
      record.states.append(state)
      let states = record.states
      let met = record.waiters.filter { $0.1(states) }.map(\.0)
      record.waiters.removeAll { $0.1(states) }
      return met
    }
    for waiter in met { waiter.give(()) }
  }

  func wait(
    for what: String, _ isMet: @escaping @Sendable ([ConnectionState]) -> Bool
  ) async throws(Problem) {
    let shot = OneAnswer<Void>()
    let isThere = record.withLock { record in
      if isMet(record.states) { return true }
      record.waiters.append((shot, isMet))
      return false
    }
    if !isThere { try await patiently(what, shot, else: ()) }
  }

  func startAndWait() async throws(Problem) {
    start()
    try await wait(for: "state ready") { $0.contains { $0.isReadyOrOver } }
    guard states == [.preparing, .ready] else { throw Problem(text: "the states were \(history)") }
  }

  func patiently<Value: Sendable>(
    _ what: String, _ body: @escaping @Sendable () async -> Value
  ) async throws(Problem) -> Value {
    switch await interruptible(within: patience, time: .continuous, body) {
    case .success(let value): return value
    case .failure: throw Problem(text: "\(what) did not come in \(patience.brief)")
    }
  }

  /// Waits as above, for a value that may never be given: on a timeout a waiting task gets `last`, so that it does not
  /// wait forever.
  func patiently<Value: Sendable>(
    _ what: String, _ shot: OneAnswer<Value>, else last: Value
  ) async throws(Problem) -> Value {
    do throws(Problem) {
      return try await patiently(what) { await shot.value() }
    } catch {
      shot.give(last)
      throw error
    }
  }

  private func called(_ name: String) {
    checkQueue()
    record.withLock { record in
      record.calls[name, default: 0] += 1
      record.order.append(name)
    }
  }

  // MARK: sending and receiving, begun at once, waited for later

  func send(
    _ name: String, _ data: Data?, _ context: ConnectionContentContext = .defaultMessage
  ) -> OneAnswer<ConnectionError?> {
    let shot = OneAnswer<ConnectionError?>()
    record.withLock { $0.calls[name] = 0 }
    connection.send(
      content: data, contentContext: context, isComplete: true,
      completion: .contentProcessed { [weak self] error in
        self?.called(name)
        shot.give(error)
      })
    return shot
  }

  func receive(_ name: String, _ minimum: Int, _ maximum: Int) -> OneAnswer<Answer> {
    receiving(name) { connection.receive(minimumIncompleteLength: minimum, maxLength: maximum, completion: $0) }
  }

  func receive(_ name: String) -> OneAnswer<Answer> {
    receiving(name) { connection.receive(completion: $0) }
  }

  func receiveMessage(_ name: String) -> OneAnswer<Answer> {
    receiving(name) { connection.receiveMessage(completion: $0) }
  }

  private func receiving(
    _ name: String,
    _ begin: (@escaping @Sendable (Data?, ConnectionContentContext?, Bool, ConnectionError?) -> Void) -> Void
  ) -> OneAnswer<Answer> {
    let shot = OneAnswer<Answer>()
    record.withLock { $0.calls[name] = 0 }
    begin { [weak self] data, context, isComplete, error in
      self?.called(name)
      shot.give(Answer(data: data ?? Data(), context: context, isComplete: isComplete, error: error))
    }
    return shot
  }

  func expect(_ shot: OneAnswer<ConnectionError?>, _ what: String) async throws(Problem) {
    if let error = try await patiently(what, shot, else: nil) { throw Problem(text: "\(what) failed: \(error)") }
  }

  func expect(_ shot: OneAnswer<Answer>, _ what: String) async throws(Problem) -> Answer {
    let answer = try await patiently(what, shot, else: Answer())
    if let error = answer.error { throw Problem(text: "\(what) failed: \(error)") }
    return answer
  }

  func expect(_ shot: OneAnswer<Answer>, bytes: String, _ what: String) async throws(Problem) {
    let answer = try await expect(shot, what)
    guard answer.data == Data(bytes.utf8) else {
      throw Problem(text: "\(what) brought “\(String(decoding: answer.data, as: UTF8.self))” instead of “\(bytes)”")
    }
  }

  // MARK: the end

  func cancelAndCount() async throws(Problem) {
    guard !states.isEmpty else { return connection.cancel() }
    connection.cancel()
    try await wait(for: "state cancelled") { $0.contains(.cancelled) }
    // Calls made after the last state are behind it on the queue.
    try await patiently("the queue") { [queue] in
      await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
    }
    let (states, calls, isOffQueue) = record.withLock { ($0.states, $0.calls, $0.isOffQueue) }
    guard states.last == .cancelled, states.count(where: { $0 == .cancelled }) == 1 else {
      throw Problem(text: "cancelled is not the last state, once: \(Self.words(states))")
    }
    for (name, count) in calls.sorted(by: { $0.key < $1.key }) where count != 1 {
      throw Problem(text: "the completion of \(name) was called \(count) times")
    }
    if isOffQueue { throw Problem(text: "a handler or completion ran off the queue") }
  }
}

extension ConnectionState {
  fileprivate var isReadyOrOver: Bool {
    switch self {
    case .ready, .failed, .cancelled: true
    case .setup, .waiting, .preparing: false
    }
  }
}
