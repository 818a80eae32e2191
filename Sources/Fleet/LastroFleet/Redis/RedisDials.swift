// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// Dials the servers of a list until one accepts the connection and the password.
struct RedisDials: Sendable {
  struct Opened: Sendable {
    var connection: RedisConnection
    /// The index of its address.
    var index: Int
  }

  let addresses: [RedisAddress]
  let dialer: any Dialer
  let options: ConnectionOptions?
  let authentication: [UInt8]?
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
    let stream: any ByteStream
    do throws(TransportError) {
      stream = try await dialer.dial(address.dial(options, within: timeout))
    } catch {
      throw FleetStoreError(.unreachable, "\(address) cannot be reached: \(error.message)", hint: error.hint)
    }
    let connection = RedisConnection(stream, to: address, time: time)
    guard let authentication else { return connection }
    let reply = try await connection.reply(to: authentication, within: timeout)
    if case .error(let text) = reply { throw .refused(by: address, text) }
    return connection
  }
}
