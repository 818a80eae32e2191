// SPDX-License-Identifier: Apache-2.0

extension BenchClient {
  /// Opens connections to many addresses, and runs the measurement while they are idle.
  func idle(_ arguments: Arguments) async throws -> (bytes: Int, used: Usage) {
    let template = try arguments.required("url")
    guard let connections = try arguments.number("connections"), template.contains("{n}") else {
      throw BenchFailure.failed("idle takes connections=, and {n} in url=")
    }
    let port = try Sockets.port(of: template)
    let hosts = try arguments.number("hosts") ?? IdleHosts.count
    try await open(connections, to: hosts, template, port: port)
    let outcome = try await load(arguments, .fetch, url: "url2", concurrency: try arguments.concurrency)
    let left = try Sockets.connected(toPort: port).values.reduce(0, +)
    guard left >= connections else { throw BenchFailure.failed("\(left) of \(connections) connections are left") }
    return outcome
  }

  /// Opens the connections. All requests to an address start at the same time, because an idle connection would be
  /// reused. If a response arrives before the last request starts, that still happens. The address then gets another
  /// round, with more requests.
  private func open(_ connections: Int, to hosts: Int, _ template: String, port: Int) async throws {
    let hosts = min(connections, hosts)
    for turn in 0..<20 {
      let connected = try Sockets.connected(toPort: port)
      var isComplete = true
      for host in 0..<hosts {
        let demanded = connections / hosts + (host < connections % hosts ? 1 : 0)
        guard connected[IdleHosts.address(host), default: 0] < demanded else { continue }
        isComplete = false
        let exchange = try exchange(.fetch, url: IdleHosts.url(template, host))
        let requests = demanded + turn * turn
        _ = try await Load.run(requests, concurrency: requests, size: nil, exchange)
      }
      if isComplete { return }
    }
    let opened = try Sockets.connected(toPort: port).values.reduce(0, +)
    throw BenchFailure.failed("the client keeps \(opened) of \(connections) connections")
  }
}

/// The addresses of the server for idle connections: 127.1.0.1 to 127.1.3.250.
private enum IdleHosts {
  static let count = 1000

  /// Returns the address as a number whose highest byte is the first byte of the address.
  static func address(_ host: Int) -> UInt32 {
    127 << 24 | 1 << 16 | UInt32(truncatingIfNeeded: host / 250) << 8 | UInt32(truncatingIfNeeded: host % 250 + 1)
  }

  static func url(_ template: String, _ host: Int) -> String {
    let parts = template.split(separator: "{n}", omittingEmptySubsequences: false)
    return parts.joined(separator: "127.1.\(host / 250).\(host % 250 + 1)")
  }
}
