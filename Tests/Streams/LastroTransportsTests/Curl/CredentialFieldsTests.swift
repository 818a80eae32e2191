// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroCurl
import LastroEveryday
import LastroHTTP
import LastroTesting
import TestSupport
import Testing

@Suite("Credentials on the wire", .timeLimit(.minutes(15)))
struct CredentialFieldsTests {
  @Test("No server gets credentials meant for another", arguments: [false, true])
  func redirected(overDialer: Bool) async throws {
    let target = try LoopbackServer.http { _ in .text("fine") }
    let server = try LoopbackServer.http { _ in
      LoopbackResponse(status: 302).adding("Location", target.baseURL + "/elsewhere")
    }
    var configuration = CurlConfiguration()
    configuration.connection.proxy = .none
    let engine = try CurlTransport(configuration)
    let transport: any Transport =
      overDialer
      ? try DialerTransport(over: engine, configuration: engine.exchange) : engine
    let stack = TransportNetworkStack(transport: transport)
    for given in CredentialCase.all {
      var request = try ResourceRequest(url: server.baseURL)
      request.head.headerFields.append(contentsOf: given.fields(of: "ann"))
      _ = try await stack.fetch(RawHTTPResource.raw(request))
    }
    let names = CredentialCase.all.map(\.name)
    let secrets = CredentialCase.all.map { $0.secret(of: "ann") }
    #expect(server.requests.count == names.count && target.requests.count == names.count)
    for (index, request) in server.requests.enumerated() {
      #expect(request.head[names[index]] == secrets[index], "\(names[index]) was not sent")
    }
    for (index, request) in target.requests.enumerated() {
      #expect(request.head[names[index]] == nil, "\(names[index]) was sent to another origin")
    }
    await engine.shutDown(cancelling: true)
  }
}
