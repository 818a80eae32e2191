// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroCurl
import LastroGemini
import LastroStreamsTesting
import LastroTesting
import LastroTransports
import LastroTunnels
import LastroWebSocket

/// Recipes for WebSocket, Gemini, streams and chains of proxies.
enum SocketRecipes {
  static func run(_ recipes: RecipeStage) async throws {
    let hosts = try StreamHosts()
    try await sockets(recipes, hosts)
    let capsule = try GeminiCapsule(recipes.stage, hosts)
    defer { capsule.stop() }
    await recipes.check("Gemini", prints: ["20 text/gemini", "# River otters"]) { try await gemini(capsule.dialer) }
    try await tunnels(recipes, hosts)
  }

  private static func sockets(_ recipes: RecipeStage, _ hosts: StreamHosts) async throws {
    var behavior = LoopbackWebSocketBehavior()
    behavior.onMessage = { [$0.echo, .close(1000, "")] }
    let server = try LoopbackWebSocketServer(tls: try hosts.identity("chat.example.org"), behavior)
    defer { server.stop() }
    let dialer = hosts.dialer(["chat.example.org": server.port])
    await recipes.check("WebSocket", prints: [#"text("hello")"#]) { try await webSocket(dialer) }
  }

  private static func tunnels(_ recipes: RecipeStage, _ hosts: StreamHosts) async throws {
    let host = "www.example.org"
    let echo = try echoServer(try hosts.identity(host))
    let web = try LoopbackServer.http(tls: hosts.identity(host)) { _ in .text("a page") }
    let proxy = try LoopbackServer.socks5()
    let bridge = try LoopbackTunnelServer.obfs4(forwardingTo: web.port)
    defer { for server in [echo, web, proxy] { server.stop() } }
    defer { bridge.stop() }
    await recipes.check("SOCKS", prints: ["hello"]) {
      try await socks(hosts.configuration, host, echo.port, proxyPort: proxy.port)
    }
    await recipes.check("chain", prints: ["a page"]) {
      try await chain(hosts.configuration, "socks5://127.0.0.1:\(proxy.port)", bridge.hop)
    }
  }

  private static func webSocket(_ dialer: any Dialer) async throws {
    // sample: WebSocket
    let socket = try await WebSocketClient(dialer: dialer).connect("wss://chat.example.org/room")
    try await socket.send("hello")
    for try await message in socket.messages { print(message) }
    // end
  }

  private static func gemini(_ dialer: any Dialer) async throws {
    // sample: Gemini
    let page = try await GeminiClient(dialer: dialer).fetch("gemini://capsule.example.org/rivers").collected()
    print(page.status, page.meta)
    // end
    print(page.text?.split(separator: "\n").first.map(String.init) ?? "")
  }

  private static func socks(
    _ engine: CurlConfiguration, _ host: String, _ port: Int, proxyPort: Int
  ) async throws {
    // sample: SOCKS
    // Tor listens on port 9050.
    let proxy = try Tunnel.socks5(host: "127.0.0.1", port: proxyPort, over: CurlNetworkStack.sharedDialer)
    let dialer = proxy.addingTLS(connection: engine.connection)
    let stream = try await dialer.dial(DialRequest(host: host, port: port, tls: .init()))
    try await stream.write(Data("hello".utf8))
    print(String(decoding: try await stream.read() ?? Data(), as: UTF8.self))
    stream.close()
    // end
  }

  private static func chain(_ engine: CurlConfiguration, _ socks: String, _ bridgeLine: String) async throws {
    // sample: chain
    let chain = try ViaChain([socks, bridgeLine])  // such as socks5://127.0.0.1:9050, and the line of an obfs4 bridge
    let stack = try chain.stack(on: CurlNetworkStack(engine))
    print(try await stack.fetch(.text("https://www.example.org/")).value)
    // end
  }
}
