// SPDX-License-Identifier: Apache-2.0

/// Lookups of names or files by calls that may block for any time, on separate threads.
///
/// A request for a name that is already being looked up gets the same answer. An abandoned lookup continues until the
/// call returns, and its answer is dropped.
package final class NameLookups<Name: Hashable & Sendable, Answer: Sendable>: Sendable {
  /// A request that waits for the answer about a name.
  package struct Request: Sendable {
    let name: Name
    let isGivenUp: @Sendable () -> Bool
    let answer: @Sendable (Answer) -> Void

    /// Creates a request.
    ///
    /// - Parameter answer: a closure that is called once, on any thread, or never if the request was abandoned.
    package init(
      name: Name, isGivenUp: @escaping @Sendable () -> Bool, answer: @escaping @Sendable (Answer) -> Void
    ) {
      self.name = name
      self.isGivenUp = isGivenUp
      self.answer = answer
    }
  }

  /// The maximum number of threads. Further names wait.
  private static var mostThreads: Int { 16 }
  /// The minimum number of requests at which abandoned requests are removed.
  private static var leastToTidy: Int { 256 }

  private struct State {
    /// The requests by name, including those for a name that is being looked up.
    var requests: [Name: [Request]] = [:]
    var count = 0
    /// The number of requests at which abandoned requests are removed next.
    var tidyAt = NameLookups.leastToTidy
    /// The names that wait for a thread; the next one is at the end.
    var turns: [Name] = []
    var threads = 0
  }

  private let mostRequests: Int
  private let full: Answer
  private let noThread: Answer
  private let resolve: @Sendable (Name) -> Answer
  private let state = Lock(State())

  /// Creates lookups with no requests.
  ///
  /// - Parameters:
  ///   - mostRequests: the maximum number of requests that may wait for an answer.
  ///   - full: the answer to requests beyond that number.
  ///   - noThread: the answer if the system cannot create a thread.
  ///   - resolve: a closure that looks up a name; it may block.
  package init(
    mostRequests: Int, full: Answer, noThread: Answer, resolve: @escaping @Sendable (Name) -> Answer
  ) {
    self.mostRequests = mostRequests
    self.full = full
    self.noThread = noThread
    self.resolve = resolve
  }

  /// The number of requests that wait for an answer, including abandoned ones that have not been removed yet.
  package var stored: Int { state.withLock { $0.count } }

  package func submit(_ request: Request) {
    let (isFull, mustStart) = state.withLock { state in
      if state.count >= min(state.tidyAt, mostRequests) { Self.tidy(&state) }
      guard state.count < mostRequests else { return (true, false) }
      state.count += 1
      if state.requests[request.name] != nil {
        state.requests[request.name]?.append(request)
        return (false, false)
      }
      state.requests[request.name] = [request]
      state.turns.insert(request.name, at: 0)
      guard state.threads < Self.mostThreads else { return (false, false) }
      state.threads += 1
      return (false, true)
    }
    if isFull { request.answer(full) }
    if mustStart, DetachedThread.start({ self.run() }) != 0 { abandon() }
  }

  /// Removes abandoned requests, and names without requests. A name that is being looked up is kept.
  private static func tidy(_ state: inout State) {
    for (name, requests) in state.requests { state.requests[name] = requests.filter { !$0.isGivenUp() } }
    state.turns = state.turns.filter { name in
      guard state.requests[name]?.isEmpty == true else { return true }
      state.requests[name] = nil
      return false
    }
    state.count = state.requests.values.reduce(0) { $0 + $1.count }
    state.tidyAt = max(leastToTidy, 2 * state.count)
  }

  /// Handles a failure to create a thread: if no other thread is running, all waiting requests fail.
  private func abandon() {
    let requests = state.withLock { state in
      state.threads -= 1
      guard state.threads == 0 else { return [Request]() }
      defer {
        state.requests = [:]
        state.turns = []
        state.count = 0
      }
      return state.requests.values.flatMap(\.self)
    }
    for request in requests { request.answer(noThread) }
  }

  private func run() {
    while let name = next() {
      let answer = resolve(name)
      let requests = state.withLock { state in
        let requests = state.requests.removeValue(forKey: name) ?? []
        state.count -= requests.count
        return requests
      }
      for request in requests where !request.isGivenUp() { request.answer(answer) }
    }
  }

  /// Returns the next name that has a request that was not abandoned.
  private func next() -> Name? {
    state.withLock { state in
      while let name = state.turns.popLast() {
        let requests = state.requests[name] ?? []
        if requests.contains(where: { !$0.isGivenUp() }) { return name }
        state.requests[name] = nil
        state.count -= requests.count
      }
      state.threads -= 1
      return nil
    }
  }
}
