// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroCurl
import LastroTesting

/// Recipes for TLS, proxies and sockets.
enum ConnectionRecipes {
  static func run(_ recipes: RecipeStage) async throws {
    let (engine, configuration) = (recipes.engine, recipes.configuration)
    let backup = try recipes.root.issue(hosts: [RecipeStage.host]).pin
    let key = try recipes.certificate.pin
    await recipes.check("pin", prints: ["pinned"]) {
      try await pin(engine, configuration, key.description, backup.description)
    }
    var stranger = engine
    stranger.connection.tls.roots = .system
    let roots = try recipes.file("roots.pem", recipes.root.rootPEM)
    await recipes.check("own root", prints: ["validated"]) { try await ownRoot(stranger, configuration, roots) }
    try await clientCertificate(recipes)
    try await proxies(recipes)
    let path = try recipes.stage.socketPath()
    let docker = try LoopbackServer.http(unixSocketPath: path) { _ in .text("1.51") }
    defer { docker.stop() }
    await recipes.check("Unix socket", prints: ["1.51"]) { try await unixSocket(path) }
  }

  private static func clientCertificate(_ recipes: RecipeStage) async throws {
    var tls = LoopbackTLS(recipes.certificate)
    tls.clientAuthoritiesPEM = recipes.root.rootPEM
    let path = try recipes.stage.socketPath()
    let members = try LoopbackServer.http(unixSocketPath: path, tls: tls) { _ in .text("welcome") }
    defer { members.stop() }
    var engine = recipes.engine
    engine.connection.unixSocketPath = path
    let client = try recipes.root.issue(hosts: [], commonName: "client")
    let certificate = try recipes.file("client.pem", client.chainPEM)
    let key = try recipes.file("client.key", client.privateKeyPEM)
    await recipes.check("client certificate", prints: ["welcome"]) {
      try await identify(engine, recipes.configuration, certificate, key)
    }
  }

  private static func proxies(_ recipes: RecipeStage) async throws {
    let proxy = try LoopbackServer.tunnel()
    let web = try LoopbackServer.http(tls: LoopbackTLS(recipes.certificate)) { _ in .text("through it") }
    defer { for server in [proxy, web] { server.stop() } }
    var engine = recipes.engine
    engine.connection.unixSocketPath = nil
    let configuration = StackConfiguration(baseURL: "https://\(RecipeStage.host):\(web.port)")
    await recipes.check("proxy", prints: ["through it"]) {
      try await throughProxy(engine, configuration, "http://127.0.0.1:\(proxy.port)")
    }
    recipes.stage.check(
      "the proxy was asked for the host", Set(proxy.requests.map(\.target)) == ["\(RecipeStage.host):\(web.port)"])
  }

  private static func pin(
    _ engine: CurlConfiguration, _ configuration: StackConfiguration, _ key: String, _ backup: String
  ) async throws {
    var engine = engine
    // sample: pin
    engine.pins = [try PinningPolicy("api.example.org", pins: [key, backup])]  // each begins with sha256/
    let api = try CurlNetworkStack(engine, configuration: configuration)
    print(try await api.fetch(.text("/log")).response.facts.trust?.rawValue ?? "")
    // end
  }

  private static func ownRoot(
    _ engine: CurlConfiguration, _ configuration: StackConfiguration, _ path: String
  ) async throws {
    var engine = engine
    // sample: own root
    engine.connection.tls.roots = .file(path)  // PEM; in place of the system's
    let api = try CurlNetworkStack(engine, configuration: configuration)
    print(try await api.fetch(.text("/log")).response.facts.trust?.rawValue ?? "")
    // end
  }

  private static func identify(
    _ engine: CurlConfiguration, _ configuration: StackConfiguration, _ certificate: String, _ key: String
  ) async throws {
    var engine = engine
    // sample: client certificate
    engine.connection.tls.hostIdentities["api.example.org"] = TLSOptions.Identity(
      certificate: .file(certificate), key: .file(key))
    let api = try CurlNetworkStack(engine, configuration: configuration)
    print(try await api.fetch(.text("/")).value)
    // end
  }

  private static func throughProxy(
    _ engine: CurlConfiguration, _ configuration: StackConfiguration, _ proxy: String
  ) async throws {
    var engine = engine
    // sample: proxy
    engine.connection.proxy = .url(proxy, bypass: ["localhost"])  // such as http://proxy.example.org:3128
    let api = try CurlNetworkStack(engine, configuration: configuration)
    print(try await api.fetch(.text("/")).value)
    // end
  }

  private static func unixSocket(_ path: String) async throws {
    // sample: Unix socket
    var engine = CurlConfiguration()
    engine.connection.unixSocketPath = path  // such as /run/docker.sock
    let api = try CurlNetworkStack(engine, configuration: StackConfiguration(baseURL: "http://localhost"))
    print(try await api.fetch(.text("/version")).value)
    // end
  }
}
