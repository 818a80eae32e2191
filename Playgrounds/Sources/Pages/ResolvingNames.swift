// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroCurl
import LastroEveryday
import LastroTesting

// sample: registry
struct Registry: NameResolver {
  let known: [String: [String]]

  func resolve(_ name: HostName, port: Int) async throws(TransportError) -> ResolvedName {
    try ResolvedName(addresses: known[name.text] ?? [], timeToLive: .seconds(30))
  }
}
// end

private func set(port: Int) async throws {
  // sample: set
  var configuration = CurlConfiguration()
  configuration.connection.resolver = CachingResolver(over: Registry(known: ["orders": ["127.0.0.2", "127.0.0.1"]]))
  let stack = try CurlNetworkStack(configuration)
  let orders = try await stack.fetch(.raw(try ResourceRequest(url: "http://orders:\(port)/")))
  print(orders.response.facts.remoteAddress ?? "none")
  // end
}

private func doh() throws -> CurlNetworkStack {
  // sample: doh
  var direct = CurlConfiguration()
  direct.connection.resolve("dns.example", port: 443, to: ["192.0.2.53"])

  var configuration = CurlConfiguration()
  configuration.connection.resolver = try CachingResolver(
    doh: ["https://dns.example/dns-query"], over: CurlNetworkStack(direct), shufflesAddresses: true)
  let stack = try CurlNetworkStack(configuration)
  // end
  return stack
}

private func stub() throws -> CurlNetworkStack {
  // sample: stub
  var configuration = CurlConfiguration()
  configuration.connection.resolver = CachingResolver(over: try StubResolver(dialer: CurlNetworkStack().dialer))
  let stack = try CurlNetworkStack(configuration)
  // end
  return stack
}

extension Page {
  static let resolvingNames = Page("ResolvingNames") { stage in
    let server = try LoopbackServer.http { _ in .text("none yet") }
    _ = try doh()
    _ = try stub()
    try await stage.prints("set") { try await set(port: server.port) }
  }
}
