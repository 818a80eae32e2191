// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension BenchClient {
  /// Starts requests that never receive a response, and cancels all of them.
  ///
  /// Wall time is measured until the last task has thrown its error. Processor time is measured until the client is
  /// idle, so that it includes the closing of connections, even if that happens later.
  func cancel(_ arguments: Arguments) async throws -> (bytes: Int, used: Usage) {
    guard try !arguments.isHTTP2 else {
      throw BenchFailure.unsupported("cancel is for HTTP/1.1, where connections tell how many requests are in flight")
    }
    let url = try arguments.required("url")
    let url2 = try arguments.required("url2")
    let crowd = Crowd(try arguments.requests, try exchange(.fetch, url: url), Self.isCancellation)
    try await waitUntil("\(crowd.count) requests are in flight") {
      try crowd.checkAllWait()
      return try Sockets.connected(toPort: try Sockets.port(of: url)).values.reduce(0, +) >= crowd.count
    }
    try await rest()
    try crowd.checkAllWait()
    let before = Usage.now
    let cancelled = await crowd.cancel()
    let answered = Usage.now
    guard cancelled == crowd.count else {
      throw BenchFailure.failed("\(cancelled) of \(crowd.count) requests ended as cancelled")
    }
    try await rest()
    var used = Usage.now - before
    used.wallNanoseconds = answered.wallNanoseconds - before.wallNanoseconds
    _ = try await exchange(.fetch, url: url2)().checked(size: try arguments.number("size"))
    return (0, used)
  }

  /// Waits until the process uses almost no processor time.
  private func rest() async throws {
    var before = Usage.now
    try await waitUntil("the client is at rest") {
      let used = Usage.now - before
      before = Usage.now
      return used.wallNanoseconds > 10_000_000 && used.userMicroseconds + used.systemMicroseconds < 1000
    }
  }

  private func waitUntil(_ event: String, _ condition: () throws -> Bool) async throws {
    let end = ContinuousClock.now + .seconds(100)
    while try !condition() {
      guard ContinuousClock.now < end else { throw BenchFailure.failed("waited for 100 s until \(event)") }
      try await Task.sleep(for: .milliseconds(100))
    }
  }
}

/// Tasks that wait for a response until they are cancelled.
private final class Crowd: Sendable {
  let count: Int
  private let task: Task<Int, Never>
  private let endings: Endings

  private final class Endings: Sendable {
    /// The result or error of the first task that ended.
    let first = Mutex<String?>(nil)
  }

  init(
    _ count: Int, _ exchange: @escaping BenchClient.Exchange,
    _ isCancellation: @escaping @Sendable (any Error) -> Bool
  ) {
    let endings = Endings()
    self.count = count
    self.endings = endings
    task = Task {
      await withTaskGroup(of: Bool.self) { group in
        for _ in 0..<count {
          group.addTask {
            do {
              let answer = try await exchange()
              endings.first.withLock { $0 = $0 ?? "\(answer)" }
              return false
            } catch {
              endings.first.withLock { $0 = $0 ?? "\(error)" }
              return isCancellation(error)
            }
          }
        }
        return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
      }
    }
  }

  func checkAllWait() throws(BenchFailure) {
    if let first = endings.first.withLock({ $0 }) { throw .failed("a request ended by itself: \(first)") }
  }

  /// Cancels all tasks, waits until they have ended, and returns how many of them ended with a cancellation error.
  func cancel() async -> Int {
    task.cancel()
    return await task.value
  }
}
