// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroSupport

/// A store in Redis 7 or Valkey, over one connection that is opened when it is needed and opened again when it is lost.
///
/// All operations are pipelined over the connection. Time is the server's. Every key begins with the prefix and the
/// version of its format, such as `lastro:1:`, and expires.
///
/// ```swift
/// let servers = ["rediss://one.internal", "rediss://two.internal"]
/// let store = try RedisStore(servers, dialer: stack.dialer, password: password)
/// ```
///
/// With several addresses, the store uses the first server that accepts operations, and another one when that is lost,
/// becomes a replica or loads its data. With the addresses of sentinels, it asks them for the primary, and again when
/// that is lost or becomes a replica. An operation that was interrupted is repeated, at most once for each address,
/// which is harmless: see ``FleetStore/set(_:to:ifCurrently:expiresAfter:)``. Servers of a cluster are refused.
///
/// The user needs the commands `EVAL`, `EVALSHA`, `GET`, `SET` and `TIME`, and the keys of the prefix:
/// `ACL SETUSER fleet on >PASSWORD ~lastro:* +eval +evalsha +get +set +time`. The server should not evict keys that have
/// an expiry (`maxmemory-policy noeviction`).
///
/// It may be used from any thread. Releasing it closes the connection.
public final class RedisStore: FleetStore {
  private struct State {
    var connection: RedisConnection?
    var dial: Task<Result<RedisConnection, FleetStoreError>, Never>?
    /// The address to try next, as an index.
    var next = 0
    /// The failure of the latest dial, and the time until which it is not repeated.
    var failure: (error: FleetStoreError, until: Duration)?
  }

  /// The pause after no server could be reached, within which operations fail at once.
  private static let pause = Duration.milliseconds(100)
  /// The version of the format of values.
  private static let version = 1

  private let addresses: [RedisAddress]
  private let dialer: any Dialer
  private let connection: ConnectionOptions?
  private let greeting: [UInt8]
  private let prefix: String
  private let timeout: Duration
  private let time: TimeSource
  private let state = Lock(State())

  /// Creates a store. It connects when it is first used.
  ///
  /// - Parameters:
  ///   - addresses: the addresses of the primary and of servers that may become the primary, at least one:
  ///     `redis://HOST:PORT`, `rediss://HOST:PORT` for TLS, or `unix:/PATH`. The default port is 6379. Or those of
  ///     sentinels with the name of the primary: `redis+sentinel://HOST:PORT/NAME`, or `rediss+sentinel://HOST:PORT/NAME`
  ///     for TLS to sentinels and servers. The default port is 26379. An address may list several hosts, separated by
  ///     commas: `redis+sentinel://ONE:PORT,TWO:PORT/NAME`.
  ///   - dialer: the dialer of the connection, such as `CurlNetworkStack.dialer`.
  ///   - user: the ACL user. Default `nil`: the user `default`.
  ///   - password: the password of the user, also for sentinels that require one. Default `nil`: no authentication.
  ///   - prefix: the beginning of all keys, 1 to 100 characters of visible ASCII. Default `lastro`.
  ///   - connection: the options of the connection, such as roots and pins. Default `nil`: those of the dialer.
  ///   - timeout: the time limit of an operation, connecting included. With several addresses, each step of connecting to
  ///     one takes at most half of it. Default 1 s.
  ///   - time: the source of time for that limit. Default: the system's.
  /// - Throws: `ConfigurationError` if there is no address or an invalid one, there is a user without a password, or a
  ///   value is out of range.
  public init(
    _ addresses: [String], dialer: any Dialer, user: String? = nil, password: Secret? = nil,
    prefix: String = "lastro", connection: ConnectionOptions? = nil, timeout: Duration = .seconds(1),
    time: TimeSource = .continuous
  ) throws(ConfigurationError) {
    guard !addresses.isEmpty else {
      throw ConfigurationError("the store has no address", hint: "give at least one, such as redis://localhost:6379")
    }
    guard user == nil || password != nil else {
      throw ConfigurationError("the store's user has no password", hint: "give the password of the ACL user")
    }
    guard timeout > .zero else {
      throw ConfigurationError(
        "the store's timeout is \(timeout.brief), which is not positive", hint: "give a positive duration")
    }
    try StoreKey.check("prefix", prefix)
    var parsed: [RedisAddress] = []
    for address in addresses { parsed += try RedisAddress.parse(address) }
    self.addresses = parsed
    self.dialer = dialer
    self.connection = connection
    let authentication = password.map { ["AUTH", user ?? "default", $0.reveal()] } ?? []
    greeting = RedisCommand.encoded((["HELLO", "2"] + authentication).map { Array($0.utf8) })
    self.prefix = prefix
    self.timeout = timeout.countable
    self.time = time
  }

  /// Creates a store with one address; see ``init(_:dialer:user:password:prefix:connection:timeout:time:)``.
  ///
  /// - Throws: `ConfigurationError`.
  public convenience init(
    _ address: String, dialer: any Dialer, user: String? = nil, password: Secret? = nil
  ) throws(ConfigurationError) {
    try self.init([address], dialer: dialer, user: user, password: password)
  }

  deinit {
    let dial = state.withLock { $0.dial }
    dial?.cancel()
  }

  /// Returns the current value of a key.
  ///
  /// - Throws: ``FleetStoreError``.
  public func read(_ key: String) async throws(FleetStoreError) -> StoredValue {
    try await run(.read, key, [])
  }

  /// Changes the value of a key if it is still the expected one.
  ///
  /// - Throws: ``FleetStoreError``.
  public func set(
    _ key: String, to new: [UInt8], ifCurrently old: [UInt8]?, expiresAfter lifetime: Duration
  ) async throws(FleetStoreError) -> StoredValue {
    // The server keeps whole milliseconds, and refuses an expiry beyond its clock.
    let milliseconds = max(1, lifetime.countable / .milliseconds(1))
    return try await run(
      .compareAndSet, key,
      [old == nil ? [UInt8(ascii: "0")] : [UInt8(ascii: "1")], old ?? [], new, Array("\(Int64(milliseconds))".utf8)],
      changingTo: new)
  }

  // MARK: Operations

  private func run(
    _ script: RedisScript, _ key: String, _ arguments: [[UInt8]], changingTo new: [UInt8]? = nil
  ) async throws(FleetStoreError) -> StoredValue {
    guard StoreKey.isValid(key) else {
      throw FleetStoreError(
        .refused, "the key is not 1 to 200 characters of visible ASCII", hint: "give a short name without blanks")
    }
    let key = Array("\(prefix):\(Self.version):\(key)".utf8)
    let countdown = Countdown(timeout, now: time.now)
    // A healthy connection is not closed because connecting took long.
    let least = timeout / 4
    // One try for each server, and another for a connection that was lost while it was idle.
    var left = addresses.count + 1
    // The failure of a try that the server may have carried out.
    var interruption: FleetStoreError?
    while true {
      left -= 1
      var isSent = false
      do throws(FleetStoreError) {
        let connection = try await openConnection()
        isSent = true
        let value = try await run(script, key, arguments, on: connection, within: max(countdown.left ?? least, least))
        guard interruption != nil, let new, value.bytes != new else { return value }
      } catch {
        let isFinal = error.code == .cancelled || error.code == .refused && !error.concernsOneServer
        guard left > 0, !isFinal, countdown.left ?? .zero > .zero else { throw error }
        if isSent, error.code != .refused { interruption = error }
        continue
      }
      // Another change may have followed that of the earlier try, so the caller must not conclude that it failed.
      if let interruption { throw interruption }
    }
  }

  private func run(
    _ script: RedisScript, _ key: [UInt8], _ arguments: [[UInt8]], on connection: RedisConnection,
    within limit: Duration
  ) async throws(FleetStoreError) -> StoredValue {
    do throws(FleetStoreError) {
      if let command = script.byHash(key, arguments) {
        let reply = try await connection.reply(to: RedisCommand.encoded(command), within: limit)
        guard case .error(let text) = reply, RedisRefusal(text) == .unknownScript else {
          return try value(in: reply, of: connection)
        }
      }
      let reply = try await connection.reply(to: RedisCommand.encoded(script.whole(key, arguments)), within: limit)
      return try value(in: reply, of: connection)
    } catch {
      if connection.end != nil { drop(connection) }
      throw error
    }
  }

  private func value(in reply: RESPValue, of connection: RedisConnection) throws(FleetStoreError) -> StoredValue {
    if case .error(let text) = reply {
      let error = FleetStoreError.refused(by: connection.address, text)
      if [.otherServer, .unauthenticated].contains(RedisRefusal(text)) { connection.close(error) }
      throw error
    }
    guard case .array(let parts) = reply, parts.count == 3, let seconds = parts[1].number,
      let microseconds = parts[2].number
    else { throw unexpected(on: connection) }
    let time = Duration.seconds(seconds) + .microseconds(microseconds)
    switch parts[0] {
    case .null: return StoredValue(bytes: nil, time: time)
    case .bulk(let bytes): return StoredValue(bytes: bytes, time: time)
    default: throw unexpected(on: connection)
    }
  }

  private func unexpected(on connection: RedisConnection) -> FleetStoreError {
    let error = FleetStoreError.unexpectedReply(of: connection.address)
    connection.close(error)
    return error
  }

  // MARK: Connections

  /// Forgets a connection that has ended, and prefers the next server.
  private func drop(_ connection: RedisConnection) {
    state.withLock { state in
      guard state.connection === connection else { return }
      state.connection = nil
      state.next = (state.next + 1) % addresses.count
    }
  }

  private func openConnection() async throws(FleetStoreError) -> RedisConnection {
    enum Step {
      case use(RedisConnection)
      case wait(Task<Result<RedisConnection, FleetStoreError>, Never>)
    }
    let now = time.now()
    let step = try state.withLock { state throws(FleetStoreError) -> Step in
      if let connection = state.connection, connection.end == nil { return .use(connection) }
      if let dial = state.dial { return .wait(dial) }
      if let failure = state.failure, failure.until > now { throw failure.error }
      let first = state.next
      // A server that does not respond leaves time for the next one.
      let limit = addresses.count == 1 ? timeout : timeout / 2
      let dialing = Task { [weak self, addresses, dialer, connection, greeting, time] in
        let dials = RedisDials(
          addresses: addresses, dialer: dialer, options: connection, greeting: greeting, timeout: limit, time: time)
        let result = await dials.open(from: first)
        self?.dialEnded(result)
        return result.map(\.connection)
      }
      state.dial = dialing
      return .wait(dialing)
    }
    switch step {
    case .use(let connection): return connection
    case .wait(let dial):
      switch await interruptible(within: timeout, time: time, { await dial.value }) {
      case .success(let result): return try result.get()
      case .failure(.cancelled): throw .cancelledOperation
      case .failure(.limit):
        throw FleetStoreError(
          .timedOut, "no server of the store was reached within \(timeout.brief)",
          hint: "look at the store, or raise timeout")
      }
    }
  }

  private func dialEnded(_ result: Result<RedisDials.Opened, FleetStoreError>) {
    let now = time.now()
    state.withLock { state in
      state.dial = nil
      switch result {
      case .success(let opened):
        state.connection = opened.connection
        state.next = opened.index
        state.failure = nil
      case .failure(let error): state.failure = (error, now + Self.pause)
      }
    }
  }
}
