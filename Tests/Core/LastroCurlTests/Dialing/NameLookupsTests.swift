// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Lastro
import LastroSupport
import LastroTesting
import TestSupport
import Testing

@testable import LastroCurl

/// A gate that blocks a thread during a name lookup.
private final class LookupGate: Sendable {
  private let opened = DispatchSemaphore(value: 0)

  func open() { opened.signal() }

  /// Waits until the gate is open, and leaves it open for the next caller.
  func wait() {
    opened.wait()
    opened.signal()
  }
}

@Suite("Streams: name lookups for datagrams", .timeLimit(.minutes(15)))
struct NameLookupsTests {
  private func request(
    _ host: String, isGivenUp: Bool = false, answer: @escaping @Sendable (String) -> Void = { _ in }
  ) throws -> NameLookups<HostName, SystemLookups.Answer>.Request {
    .init(name: try HostName(host)) {
      isGivenUp
    } answer: {
      switch $0 {
      case .success(let addresses): answer(addresses.joined(separator: " "))
      case .failure(let error): answer(error.code.description)
      }
    }
  }

  @Test(
    "A lookup that hangs blocks one thread; other names are resolved meanwhile, and all waiters get its result")
  func oneForEachName() async throws {
    let gate = LookupGate()
    let asked = Lock(0)
    let lookups = SystemLookups.make { host in
      if host.text == "dead.test" {
        asked.withLock { $0 += 1 }
        gate.wait()
      }
      return .success([host.text])
    }
    let (answers, answered) = AsyncStream.makeStream(of: String.self)
    for _ in 0..<100 { lookups.submit(try request("dead.test") { answered.yield($0) }) }
    var all = answers.makeAsyncIterator()
    for index in 0..<100 {
      lookups.submit(try request("n\(index).test") { answered.yield($0) })
      #expect(await all.next() == "n\(index).test")
    }
    gate.open()
    for _ in 0..<100 { #expect(await all.next() == "dead.test") }
    #expect(asked.withLock { $0 } == 1)
    #expect(await eventually { lookups.stored == 0 })
  }

  @Test("Lookups beyond the limit fail, and lookups that were given up do not count")
  func bounded() async throws {
    let gate = LookupGate()
    let lookups = SystemLookups.make(mostRequests: 10) { host in
      gate.wait()
      return .success([host.text])
    }
    let (answers, answered) = AsyncStream.makeStream(of: String.self)
    for _ in 0..<1_000 { lookups.submit(try request("dead.test", isGivenUp: true)) }
    #expect(lookups.stored <= 10)
    for index in 0..<10 { lookups.submit(try request("n\(index % 3).test") { answered.yield($0) }) }
    #expect(lookups.stored == 10)
    lookups.submit(try request("n0.test") { answered.yield($0) })
    var all = answers.makeAsyncIterator()
    #expect(await all.next() == "queue_full")
    gate.open()
    for _ in 0..<10 { #expect(await all.next()?.hasSuffix(".test") == true) }
  }
}
