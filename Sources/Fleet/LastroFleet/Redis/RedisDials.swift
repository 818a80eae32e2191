// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// Dials the servers of a list until one accepts the connection and the password, and is a primary. Sentinels of the
/// list are asked for the primary.
struct RedisDials: Sendable {
  struct Opened: Sendable {
    var connection: RedisConnection
    /// The index of its address.
    var index: Int
  }

  let addresses: [RedisAddress]
  let dialer: any Dialer
  let options: ConnectionOptions?
  /// The command that begins a connection.
  let greeting: [UInt8]
  let timeout: Duration
  let time: TimeSource

  /// Returns a connection to the first server that accepts it, beginning with the given index.
  func open(from first: Int) async -> Result<Opened, FleetStoreError> {
    var failure = FleetStoreError(.unreachable, "the store has no address")
    for offset in addresses.indices {
      let index = (first + offset) % addresses.count
      do throws(FleetStoreError) {
        return .success(Opened(connection: try await open(addresses[index]), index: index))
      } catch {
        failure = error
      }
    }
    return .failure(failure)
  }

  private func open(_ address: RedisAddress) async throws(FleetStoreError) -> RedisConnection {
    var server = address
    if let name = address.primary { server = try await primary(name, knownTo: address) }
    let connection = try await dial(server)
    try await greet(connection)
    return connection
  }

  private func dial(_ address: RedisAddress) async throws(FleetStoreError) -> RedisConnection {
    do throws(TransportError) {
      return RedisConnection(
        try await dialer.dial(address.dial(options, within: timeout)), to: address, time: time)
    } catch {
      throw FleetStoreError(.unreachable, "\(address) cannot be reached: \(error.message)", hint: error.hint)
    }
  }

  /// Authenticates, and makes sure that the server is a primary with all keys. The command needs no rights.
  private func greet(_ connection: RedisConnection) async throws(FleetStoreError) {
    let reply = try await connection.reply(to: greeting, within: timeout)
    if case .error(let text) = reply { throw .refused(by: connection.address, text) }
    guard let mode = reply.text(of: "mode") else { throw .unexpectedReply(of: connection.address) }
    switch (mode, reply.text(of: "role")) {
    case ("cluster", _): throw .refused(by: connection.address, "CLUSTER")
    case ("sentinel", _): throw .refused(by: connection.address, "SENTINEL")
    case (_, "replica"?): throw .refused(by: connection.address, "READONLY")
    default: break
    }
  }

  /// Asks a sentinel for the address of the primary.
  private func primary(
    _ name: String, knownTo sentinel: RedisAddress
  ) async throws(FleetStoreError) -> RedisAddress {
    let connection = try await dial(sentinel)
    let question = RedisCommand.encoded(["SENTINEL", "GET-MASTER-ADDR-BY-NAME", name].map { Array($0.utf8) })
    var reply = try await connection.reply(to: question, within: timeout)
    // Most sentinels have no password, and do not get that of the servers.
    if case .error(let text) = reply, RedisRefusal(text) == .unauthenticated {
      let greeted = try await connection.reply(to: greeting, within: timeout)
      if case .error(let text) = greeted { throw .refused(by: sentinel, text) }
      reply = try await connection.reply(to: question, within: timeout)
    }
    switch reply {
    case .error(let text) where text.hasPrefix("ERR unknown command"):
      throw FleetStoreError(.refused, "\(sentinel) is not a sentinel", hint: "write redis://HOST:PORT for a server")
    case .error(let text): throw .refused(by: sentinel, text)
    case .null:
      throw FleetStoreError(
        .refused, "\(sentinel) knows no primary of that name", hint: "give the name that the sentinels monitor")
    case .array(let parts):
      guard parts.count == 2, case .bulk(let host) = parts[0], let port = parts[1].number,
        let server = sentinel.server(host: String(decoding: host, as: UTF8.self), port: port)
      else { throw .unexpectedReply(of: sentinel) }
      return server
    default: throw .unexpectedReply(of: sentinel)
    }
  }
}
