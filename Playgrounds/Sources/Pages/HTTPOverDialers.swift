// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroCurl
import LastroHTTP
import LastroTesting
import LastroTunnels

private func proxied(_ engine: any Dialer) throws -> TransportNetworkStack {
  // sample: proxy
  let dialer = try Tunnel.socks5(host: "127.0.0.1", port: 9050, over: engine).addingTLS()
  let stack = TransportNetworkStack(transport: try DialerTransport(over: dialer))
  // end
  return stack
}

private func memory() async throws {
  // sample: memory
  let server = MemoryDialer { _, stream in
    _ = try await stream.read()
    try await stream.write(Data("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello".utf8))
  }
  let stack = TransportNetworkStack(transport: try DialerTransport(over: server))
  let answer = try await stack.fetch(.raw(try ResourceRequest(url: "http://server.example/")))
  print(String(decoding: answer.value, as: UTF8.self))
  // end
}

extension Page {
  static let httpOverDialers = Page("HTTPOverDialers") { stage in
    _ = try proxied(try CurlNetworkStack().dialer)
    try await stage.prints("memory") { try await memory() }
  }
}
