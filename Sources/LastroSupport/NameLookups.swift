// SPDX-License-Identifier: Apache-2.0

/// Look-ups of names, or of files, by calls that block for as long as they like, on threads of their own.
///
/// A request for a name that is being looked up gets the same answer. A look-up that was given up goes on until the
/// call returns, and its answer is dropped.
package final class NameLookups<Name: Hashable & Sendable, Answer: Sendable>: Sendable {
  /// What waits for a name's answer.
  package struct Request: Sendable {
    let name: Name
    let isGivenUp: @Sendable () -> Bool
    let answer: @Sendable (Answer) -> Void

    /// - Parameter answer: called once, by any thread, or never where it was given up.
    package init(
      name: Name, isGivenUp: @escaping @Sendable () -> Bool, answer: @escaping @Sendable (Answer) -> Void
    ) {
      self.name = name
      self.isGivenUp = isGivenUp
      self.answer = answer
    }
  }

  /// At work at once; further names wait.
  private static var mostThreads: Int { 16 }
  /// Below so many, requests that were given up are not searched for.
  private static var leastToTidy: Int { 256 }

  private struct State {
    /// By name; those of a name that is being looked up too.
    var requests: [Name: [Request]] = [:]
    var count = 0
    /// Beyond so many, those that were given up are searched for.
    var tidyAt = NameLookups.leastToTidy
    /// Names that wait for a thread, the first at the end.
    var turns: [Name] = []
    var threads = 0
  }

  private let mostRequests: Int
  private let full: Answer
  private let noThread: Answer
  private let resolve: @Sendable (Name) -> Answer
  private let state = Lock(State())

  /// - Parameters:
  ///   - mostRequests: most requests that may wait for an answer at once.
  ///   - full: the answer to one more.
  ///   - noThread: the answer where the system starts no thread.
  ///   - resolve: may block.
  package init(
    mostRequests: Int, full: Answer, noThread: Answer, resolve: @escaping @Sendable (Name) -> Answer
  ) {
    self.mostRequests = mostRequests
    self.full = full
    self.noThread = noThread
    self.resolve = resolve
  }

  /// Requests that wait for an answer, and those that were given up and have not been dropped yet.
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

  /// Drops requests that were given up, and names without a request. A name that is being looked up stays.
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

  /// No thread could be made: where none is at work either, waiting requests fail.
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

  /// The next name with a request that was not given up.
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
