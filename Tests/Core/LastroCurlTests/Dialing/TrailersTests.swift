// SPDX-License-Identifier: Apache-2.0

import CurlSupport
import Foundation
import HTTPTypes
import Lastro
import LastroCurl
import LastroHTTP
import LastroTesting
import TestSupport
import Testing

/// Interim responses and trailers, as callers of the engine and of dialers see them.
@Suite("Trailers and interim responses", .timeLimit(.minutes(15)))
struct TrailersTests {
  enum Assembly: CaseIterable {
    case engine, dialer
  }

  private let authority: TestAuthority

  init() throws { authority = try TestAuthority() }

  private func stack(_ assembly: Assembly) throws -> TransportNetworkStack {
    let dialer = authority.dialer()
    if assembly == .dialer {
      return TransportNetworkStack(transport: try DialerTransport(over: dialer), configuration: .patient)
    }
    var configuration = CurlConfiguration()
    configuration.connection = authority.options()
    return TransportNetworkStack(transport: try CurlTransport(configuration), configuration: .patient)
  }

  private func server(
    _ version: String, _ respond: @escaping @Sendable (LoopbackRequest) -> LoopbackResponse
  ) throws -> LoopbackServer {
    var tls = try authority.tls("localhost")
    tls.applicationProtocols = [version]
    return version == "h2"
      ? try .http2(tls: tls, respond: respond) : try .http(tls: tls, respond: respond)
  }

  @Test(
    "Interim responses are reported in order, except 100", arguments: Assembly.allCases, ["h2", "http/1.1"])
  func interim(assembly: Assembly, version: String) async throws {
    let server = try server(version) { _ in
      .text("fine").after(interim: 100).after(interim: 103, headers: ["Location": "/a"]).after(interim: 199)
    }
    let told = EventRecorder<String>()
    var options = RequestOptions()
    options.onInterimResponse = { told.record("\($0.status.code) \($0.headerFields[.location] ?? "-")") }
    let request = try ResourceRequest(url: "https://localhost:\(server.port)/", options: options)
    let answer = try await stack(assembly).fetch(RawHTTPResource.raw(request))
    #expect(answer.value == Data("fine".utf8))
    #expect(told.events == ["103 /a", "199 -"])
  }

  @Test(
    "A response's trailers are part of its facts, without fields that belong into a head",
    arguments: ["h2", "http/1.1"])
  func responses(version: String) async throws {
    let server = try server(version) { _ in
      .text("fine").addingTrailer("digest", "x").addingTrailer("content-type", "a/b").addingTrailer("digest", "y")
    }
    for assembly in Assembly.allCases {
      let stack = try stack(assembly)
      for _ in 0..<2 {
        let request = try ResourceRequest(url: "https://localhost:\(server.port)/")
        let answer = try await stack.fetch(RawHTTPResource.raw(request))
        #expect(answer.response.facts.trailers.map { "\($0.name): \($0.value)" } == ["digest: x", "digest: y"])
        #expect(answer.response.headerFields[HTTPField.Name("digest")!] == nil)
      }
      let request = try ResourceRequest(url: "https://localhost:\(server.port)/")
      let body = try await stack.stream(request).value
      #expect(try await body.collect(upTo: 4) == Data("fine".utf8))
      #expect(body.finalFacts?.trailers.count == 2)
    }
  }

  private func chunks(_ texts: [String]) -> AsyncStream<Data> {
    AsyncStream { continuation in
      for text in texts { continuation.yield(Data(text.utf8)) }
      continuation.finish()
    }
  }

  @Test("A request's trailers follow its last chunk", arguments: [[], ["one", "two"]], ["h2", "http/1.1"])
  func requests(texts: [String], version: String) async throws {
    let server = try server(version) { request in
      .text(request.text + request.trailers.fields.map { "|\($0.name.lowercased())=\($0.value)" }.joined())
    }
    for assembly in Assembly.allCases {
      let body = RequestBody.stream(chunks(texts), trailers: { ["Digest": "x", "Sum": "y z"] })
      let request = try ResourceRequest(method: .post, url: "https://localhost:\(server.port)/", body: body)
      let answer = try await stack(assembly).fetch(RawHTTPResource.raw(request))
      #expect(String(decoding: answer.value, as: UTF8.self) == texts.joined() + "|digest=x|sum=y z")
    }
  }

  @Test("Heads and trailers of 70,000 bytes are sent", arguments: ["h2", "http/1.1"])
  func large(version: String) async throws {
    let server = try server(version) { request in
      .text("\(request.headers["Large"]?.utf8.count ?? 0), \(request.trailers.fields.map(\.value.utf8.count))")
    }
    let value = String(repeating: "v", count: 70_000)
    for assembly in Assembly.allCases {
      let body = RequestBody.stream(chunks(["a"]), trailers: { ["Sum": value] })
      var request = try ResourceRequest(method: .post, url: "https://localhost:\(server.port)/", body: body)
      request.head.headerFields[HTTPField.Name("Large")!] = value
      let answer = try await stack(assembly).fetch(RawHTTPResource.raw(request))
      #expect(String(decoding: answer.value, as: UTF8.self) == "70000, [70000]")
    }
  }

  @Test(
    "A response field of 70,000 bytes is accepted over HTTP/1.1 and exceeds a limit over HTTP/2",
    arguments: ["h2", "http/1.1"])
  func largeField(version: String) async throws {
    let server = try server(version) { request in
      request.path == "/large" ? .text("fine").adding("Large", String(repeating: "v", count: 70_000)) : .text("fine")
    }
    for assembly in Assembly.allCases {
      let stack = try stack(assembly)
      let resource = RawHTTPResource.raw(try ResourceRequest(url: "https://localhost:\(server.port)/large"))
      if version == "h2" {
        let error = try await stack.failure(of: resource)
        #expect("\(error.stage.rawValue)/\(error.code.rawValue)" == "limit/head_too_large")
      } else {
        #expect(try await stack.fetch(resource).response.headerFields[HTTPField.Name("Large")!]?.utf8.count == 70_000)
      }
      let other = try ResourceRequest(url: "https://localhost:\(server.port)/")
      #expect(try await stack.fetch(RawHTTPResource.raw(other)).value == Data("fine".utf8))
    }
  }

  @Test("Trailers that cannot be sent fail the fetch with an error that names the remedy")
  func refused() async throws {
    let server = try server("http/1.1") { .text($0.text) }
    func failure(_ assembly: Assembly, _ body: RequestBody) async throws -> String {
      let request = try ResourceRequest(method: .post, url: "https://localhost:\(server.port)/", body: body)
      let error = try await stack(assembly).failure(of: RawHTTPResource.raw(request))
      return "\(error.stage.rawValue)/\(error.code.rawValue)"
    }
    struct Unknown: Error {}
    for assembly in Assembly.allCases {
      let heads = RequestBody.stream(chunks(["a"]), trailers: { ["Content-Type": "a/b"] })
      #expect(try await failure(assembly, heads) == "request/invalid_header")
      let fails = RequestBody.stream(chunks(["a"]), trailers: { throw Unknown() })
      #expect(try await failure(assembly, fails) == "request/invalid_body")
      let known = RequestBody.stream(chunks(["a"]), length: 1, trailers: { [:] })
      #expect(try await failure(assembly, known) == "request/invalid_body")
    }
  }
}
