// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroBrotli
import LastroCurl
import LastroTesting
import LastroZstd

private func listed() throws -> CurlNetworkStack {
  // sample: codings
  var engine = CurlConfiguration()
  engine.codings = [.zstd, .brotli, .gzip]
  let stack = try CurlNetworkStack(engine)
  // end
  return stack
}

private func compressing(_ configuration: inout StackConfiguration) {
  // sample: requests
  configuration.interceptors = [.retry, .compressing(.gzip)]
  // end
}

private func limits(_ engine: inout CurlConfiguration) {
  // sample: limits
  engine.maximumWindowBytes = 64 << 20
  engine.refusesMisnamedCodings = true
  // end
}

extension Page {
  static let codings = Page("Codings") { stage in
    let server = try LoopbackServer.http { request in .text(request.headers["Accept-Encoding"] ?? "nothing") }
    let stack = try listed()
    let offer = try await stack.fetch(.get(server.baseURL)).value
    stage.check("the request asks for zstd first", String(decoding: offer, as: UTF8.self) == "zstd, br, gzip")
    await stack.shutDown()
    var engine = CurlConfiguration()
    limits(&engine)
    var configuration = StackConfiguration()
    compressing(&configuration)
    let transport = ScriptedTransport([.respond(status: .unsupportedMediaType), .respond(status: .ok)])
    let sender = TransportNetworkStack(transport: transport, configuration: configuration)
    let text = String(repeating: "All happy families are alike. ", count: 100)
    let request = try ResourceRequest(method: .post, url: "https://api.example/", body: .raw(text))
    let response = try await sender.fetch(.raw(request)).response
    say("\(response.ledger)")
    let sizes = transport.requests.map { $0.body.length ?? 0 }
    stage.check("the body is compressed, and sent again without coding", sizes.count == 2 && sizes[0] < sizes[1])
  }
}
