// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Testing

@testable import Lastro

@Suite("Limits")
struct LimitTests {
  @Test("limits that mean nothing are refused before anything is sent")
  func negative() async throws {
    let faults: [@Sendable (inout StackConfiguration, inout RequestOptions) -> Void] = [
      { $1.maximumBodyBytes = -1 }, { configuration, _ in configuration.maximumBodyBytes = -1 },
      { configuration, _ in configuration.maximumErrorBodyBytes = .min },
      { configuration, _ in configuration.maximumAttempts = 0 },
    ]
    for fault in faults {
      var options = RequestOptions()
      let transport = StubTransport(.answer(200))
      let stack = TransportNetworkStack(transport) { fault(&$0, &options) }
      let error = try await stack.failure(of: .test(options: options))
      #expect(error.stage == .request && error.code == .invalidOption)
      #expect(error.message.contains("is -") || error.message.contains("is 0"))
      let stream = await #expect(throws: HTTPFetchError<any Error>.self) {
        try await stack.stream(.test(options: options))
      }
      #expect(stream?.code == .invalidOption)
      #expect(transport.requests.isEmpty)
    }
  }

  @Test("a transport that looks at no limit does not get past it")
  func bodyInMemory() async throws {
    var options = RequestOptions()
    options.maximumBodyBytes = 3
    let stack = TransportNetworkStack(StubTransport(.answer(200, body: "abcd")))
    let error = try await stack.failure(of: .test(options: options))
    #expect(error.stage == .limit && error.code == .bodyTooLarge && error.statusCode == .ok)
    options.maximumBodyBytes = 4
    #expect(try await stack.fetch(.test(options: options)).value == Data("abcd".utf8))
  }

  @Test("an error keeps no more of a body than the stack allows; the API's error is decoded from all of it")
  func errorBody() async throws {
    let body = #"{"message":"m"}"#
    let stack = TransportNetworkStack(StubTransport(.answer(500, body: body))) { $0.maximumErrorBodyBytes = 4 }
    let error = try await stack.failure(of: PipelineTests.typed())
    #expect(error.body == Data(body.utf8.prefix(4)))
    #expect(error.apiError == APIFailure(message: "m"))
  }
}
