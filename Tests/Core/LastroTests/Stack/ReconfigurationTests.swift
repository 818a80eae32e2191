// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroTesting
import TestSupport
import Testing

@Suite("Settings that are replaced while a stack is in use", .timeLimit(.minutes(15)))
struct ReconfigurationTests {
  @Test("Calls under way keep the settings that they began with, and copies of the stack have the new ones")
  func callsUnderWay() async throws {
    let clock = ManualClock()
    let stack = TransportNetworkStack(ScriptedTransport(repeatingLast: .hang), time: clock.timeSource) {
      $0.timeouts.total = .seconds(60)
    }
    let copy = stack
    let old = Task { try await copy.failure(of: .test()) }
    try await clock.waitForLimits(count: 1)
    try stack.reconfigure { $0.timeouts.total = .seconds(5) }
    let new = Task { try await copy.failure(of: .test()) }
    try await clock.waitForLimits(count: 2)
    clock.advance(by: .seconds(5))
    #expect(try await new.value.words == "timeout/total_timeout")
    #expect(clock.nextLimit == .seconds(60))
    clock.advance(by: .seconds(55))
    #expect(try await old.value.words == "timeout/total_timeout")
  }

  @Test("Interceptors, base URL and fields are replaced, and the script of requests goes on")
  func parts() async throws {
    let transport = ScriptedTransport(repeatingLast: .answer(503))
    let retry = StandardInterceptor.retry(try .standard(attempts: 3, baseDelay: .zero))
    let stack = TransportNetworkStack(transport, interceptors: [retry]) {
      $0.baseURL = "https://one.example"
    }
    _ = try await stack.failure(of: RawHTTPResource.get("/a"))
    #expect(transport.requests.count == 3)
    try stack.reconfigure {
      $0.interceptors = []
      $0.baseURL = "https://two.example"
      $0.headers["X-Region"] = "north"
    }
    _ = try await stack.failure(of: RawHTTPResource.get("/a"))
    #expect(transport.requests.count == 4)
    #expect(transport.requests.last?.head.authority == "two.example")
    let region = try #require(HTTPField.Name("X-Region"))
    #expect(transport.requests.last?.head.headerFields[region] == "north")
    #expect(await stack.explain(RawHTTPResource.get("/a")).contains("two.example"))
  }

  @Test("Settings that would fail every call are refused, and the old ones stay")
  func refused() async throws {
    let transport = ScriptedTransport(repeatingLast: .answer(200))
    let stack = TransportNetworkStack(transport) { $0.baseURL = "https://one.example" }
    let changes: [(String, @Sendable (inout StackConfiguration) -> Void)] = [
      ("baseURL", { $0.baseURL = "ftp://one.example" }), ("maximumAttempts", { $0.maximumAttempts = 0 }),
      ("maximumBodyBytes", { $0.maximumBodyBytes = -1 }),
      ("maximumRetryAfter", { $0.maximumRetryAfter = .seconds(-1) }),
      ("total", { $0.timeouts.total = .seconds(-1) }), ("idle", { $0.streamTimeouts.idle = .zero }),
      ("Authorization", { $0.headers["Authorization"] = "Bearer abc" }),
    ]
    for (name, change) in changes {
      let error = #expect(throws: ConfigurationError.self) { try stack.reconfigure(change) }
      #expect(error?.message.contains(name) == true, "\(error?.message ?? "")")
      #expect(error?.hint?.isEmpty == false)
      _ = try await stack.fetch(RawHTTPResource.get("/a"))
    }
    #expect(transport.requests.count == changes.count)
    #expect(transport.requests.allSatisfy { $0.head.authority == "one.example" })
  }

  @Test("No change is lost if many threads reconfigure a stack at once")
  func manyThreads() async throws {
    let stack = TransportNetworkStack(ScriptedTransport())
    try await withThrowingTaskGroup { group in
      for _ in 0..<64 { group.addTask { try stack.reconfigure { $0.maximumAttempts += 1 } } }
      try await group.waitForAll()
    }
    #expect(stack.configuration.maximumAttempts == StackConfiguration().maximumAttempts + 64)
  }

  @Test("The retry quota keeps what was spent of it")
  func quota() async throws {
    let transport = ScriptedTransport(repeatingLast: .answer(503))
    let quota = try RetryQuota(capacity: 14)
    let retry = StandardInterceptor.retry(try .standard(attempts: 2, baseDelay: .zero))
    let stack = TransportNetworkStack(transport, interceptors: [retry]) {
      $0.retryQuota = quota
    }
    _ = try await stack.failure(of: .test())
    #expect(transport.requests.count == 2)
    try stack.reconfigure { $0.timeouts.total = .seconds(5) }
    _ = try await stack.failure(of: .test())
    #expect(transport.requests.count == 3)
  }
}
