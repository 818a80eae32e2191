// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Lastro
internal import LastroSupport

#if canImport(Glibc)
  internal import Glibc
#endif

/// Look-ups of names for datagrams, on threads of their own: `getaddrinfo` blocks for as long as it likes.
///
/// A request for a name that is being looked up gets the same answer. A look-up that was given up goes on until the
/// system answers, and its answer is dropped.
final class NameLookups: Sendable {
  typealias Answer = Result<[String], TransportError>

  /// A dial that waits for a name's addresses.
  struct Request: Sendable {
    let host: HostName
    let isGivenUp: @Sendable () -> Bool
    /// Called once, by any thread, or never where it was given up.
    let answer: @Sendable (Answer) -> Void
  }

  static let shared = NameLookups { addresses(of: $0) }
  /// At work at once in this process; further names wait.
  private static let mostThreads = 16
  /// Below so many, requests that were given up are not searched for.
  private static let leastToTidy = 256

  private struct State {
    /// By name; those of a name that is being looked up too.
    var requests: [HostName: [Request]] = [:]
    var count = 0
    /// Beyond so many, those that were given up are searched for.
    var tidyAt = NameLookups.leastToTidy
    /// Names that wait for a thread, the first at the end.
    var turns: [HostName] = []
    var threads = 0
  }

  private let mostRequests: Int
  private let resolve: @Sendable (HostName) -> Answer
  private let state = Lock(State())

  /// - Parameter mostRequests: most requests that may wait for an answer at once.
  init(mostRequests: Int = 4_096, resolve: @escaping @Sendable (HostName) -> Answer) {
    self.mostRequests = mostRequests
    self.resolve = resolve
  }

  /// Requests that wait for an answer, and those that were given up and have not been dropped yet.
  var stored: Int { state.withLock { $0.count } }

  func submit(_ request: Request) {
    let (isFull, mustStart) = state.withLock { state in
      if state.count >= min(state.tidyAt, mostRequests) { Self.tidy(&state) }
      guard state.count < mostRequests else { return (true, false) }
      state.count += 1
      if state.requests[request.host] != nil {
        state.requests[request.host]?.append(request)
        return (false, false)
      }
      state.requests[request.host] = [request]
      state.turns.insert(request.host, at: 0)
      guard state.threads < Self.mostThreads else { return (false, false) }
      state.threads += 1
      return (false, true)
    }
    if isFull {
      request.answer(
        .failure(
          .lookupsFull(mostRequests)))
    }
    if mustStart, !startThread() { abandon() }
  }

  /// Drops requests that were given up, and names without a request. A name that is being looked up stays.
  private static func tidy(_ state: inout State) {
    for (host, requests) in state.requests { state.requests[host] = requests.filter { !$0.isGivenUp() } }
    state.turns = state.turns.filter { host in
      guard state.requests[host]?.isEmpty == true else { return true }
      state.requests[host] = nil
      return false
    }
    state.count = state.requests.values.reduce(0) { $0 + $1.count }
    state.tidyAt = max(leastToTidy, 2 * state.count)
  }

  private func startThread() -> Bool {
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    var thread = pthread_t()
    let own = Unmanaged.passRetained(self)
    let code = pthread_create(
      &thread, &attributes,
      { own in
        clastro_name_thread("lastro-lookup")
        if let own { Unmanaged<NameLookups>.fromOpaque(own).takeRetainedValue().run() }
        return nil
      }, own.toOpaque())
    if code != 0 { own.release() }
    return code == 0
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
    let error = TransportError.noLookupThread
    for request in requests { request.answer(.failure(error)) }
  }

  private func run() {
    while let host = next() {
      let answer = resolve(host)
      let requests = state.withLock { state in
        let requests = state.requests.removeValue(forKey: host) ?? []
        state.count -= requests.count
        return requests
      }
      for request in requests where !request.isGivenUp() { request.answer(answer) }
    }
  }

  /// The next name with a request that was not given up.
  private func next() -> HostName? {
    state.withLock { state in
      while let host = state.turns.popLast() {
        let requests = state.requests[host] ?? []
        if requests.contains(where: { !$0.isGivenUp() }) { return host }
        state.requests[host] = nil
        state.count -= requests.count
      }
      state.threads -= 1
      return nil
    }
  }

  private static func addresses(of host: HostName) -> Answer {
    var found: [String] = []
    let code = withUnsafeMutablePointer(to: &found) { found in
      clastro_resolve(host.text, found) { found, address in
        found.assumingMemoryBound(to: [String].self).pointee.append(String(cString: address))
      }
    }
    guard code == 0, !found.isEmpty else {
      return .failure(.noAddress(of: host.text, code))
    }
    return .success(found)
  }
}
