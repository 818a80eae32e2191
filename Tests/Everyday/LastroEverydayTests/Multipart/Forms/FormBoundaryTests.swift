// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroSupport
import LastroTesting
import TestSupport
import Testing

@testable import LastroEveryday

@Suite("Boundaries of forms", .timeLimit(.minutes(15)))
struct FormBoundaryTests {
  private func form(_ texts: String...) -> MultipartForm {
    var form = MultipartForm()
    for text in texts { form.add(text, text) }
    return form
  }

  /// Returns the content types of a call's attempts, each of which creates a new form.
  private func types(_ statuses: [HTTPResponse.Status], waits: Bool, _ make: @escaping @Sendable () -> MultipartForm)
    async throws
    -> [String]
  {
    let transport = ScriptedTransport(statuses.map { .respond(status: $0) })
    var configuration = StackConfiguration()
    configuration.timeSource = ManualClock(autoAdvance: true).timeSource
    configuration.interceptors = [RetryInterceptor(policy: .maxRetries(5), eligibility: .any)]
    let stack = TransportNetworkStack(transport: transport, configuration: configuration)
    let url = "https://api.example.org/"
    let making: BaseRequestMaking<ResourceRequest> =
      waits
      ? BaseRequestMaking { () async throws -> ResourceRequest in
        await Task.yield()
        return try ResourceRequest(method: .put, url: url, body: .multipart(make()))
      } : BaseRequestMaking { try ResourceRequest(method: .put, url: url, body: .multipart(make())) }
    _ = try await stack.fetch(RawHTTPResource(baseRequestMaking: making))
    for request in transport.requests {
      let boundary = try #require(request.body.contentType?.split(separator: "=").last)
      #expect(try await request.body.sent().starts(with: Data("--\(boundary)\r\n".utf8)))
    }
    return transport.requests.compactMap(\.body.contentType)
  }

  @Test(
    "A boundary is the same in all attempts of a call, though each makes the form again, and differs between calls",
    arguments: [false, true])
  func attempts(waits: Bool) async throws {
    let first = try await types([.serviceUnavailable, .serviceUnavailable, .ok], waits: waits) { form("a") }
    #expect(first.count == 3 && Set(first).count == 1)
    let second = try await types([.ok], waits: waits) { form("a") }
    #expect(first.first != second.first)
    let third = try await types([.serviceUnavailable, .ok], waits: waits) {
      MultipartForm(boundary: "given").adding("a")
    }
    #expect(third.allSatisfy { $0 == "multipart/form-data; boundary=given" })
  }

  @Test("The boundaries of nested forms in one call differ")
  func nested() async throws {
    let seen = Lock<[String]>([])
    _ = try await types([.ok], waits: false) {
      guard let inner = try? RequestBody.multipart(form("a")) else { return form() }
      var outer = form("a")
      outer.add("inner", inner)
      seen.withLock { types in types.append(inner.contentType ?? "") }
      seen.withLock { types in types.append((try? RequestBody.multipart(outer))?.contentType ?? "") }
      return outer
    }
    #expect(Set(seen.withLock { $0 }).count == 2)
  }

  @Test("A form keeps the random boundary it was given")
  func drawn() throws {
    var random = RandomSource.seeded(7)
    let form = MultipartForm(randomSource: random)
    let type = try RequestBody.multipart(form).contentType
    #expect(try RequestBody.multipart(form).contentType == type)
    random = .seeded(7)
    #expect(try RequestBody.multipart(MultipartForm(randomSource: random)).contentType == type)
    #expect(
      try RequestBody.multipart(MultipartForm()).contentType != RequestBody.multipart(MultipartForm()).contentType)
  }

  @Test(
    "Invalid boundaries are refused", arguments: ["", "a ", "a\r\nb", "a\"b", "ä", String(repeating: "a", count: 71)])
  func refused(boundary: String) {
    #expect(throws: TransportError.self) { try RequestBody.multipart(MultipartForm(boundary: boundary)) }
  }
}

extension MultipartForm {
  fileprivate func adding(_ name: String) -> Self {
    var copy = self
    copy.add(name, name)
    return copy
  }
}
