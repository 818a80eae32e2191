// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import Lastro
import LastroFleet

/// Two instances of the shop, which share a token and the quota of the price API through a folder.
struct TwoInstances {
  private static let perSecond = 50.0
  private static let burst = 50

  private let upstreams: Upstreams
  private let time = LoadClock()
  private let shops: [RunningShop]
  private let users: [Users]

  /// Runs the load on both instances at once.
  static func run(_ report: inout Report) async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("shop-\(UUID())").path
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let load = try TwoInstances(sharing: folder)
    let ticking = Task { await load.time.run() }
    defer { ticking.cancel() }
    let running = load.shops.map { shop in Task { try await shop.run() } }
    for shop in load.shops { try await shop.front.events.waitForEvents(count: 1) }
    await load.ask(&report)
    kill(getpid(), SIGTERM)
    for task in running { try await task.value }
    for users in load.users { await users.leave() }
    load.upstreams.stop()
  }

  private init(sharing folder: String) throws {
    upstreams = try Upstreams()
    let time = time.source
    shops = try (0..<2).map { [upstreams] _ in
      var settings = try upstreams.settings(time: time)
      settings.stack = { engine, configuration in
        TransportNetworkStack(
          transport: PatientTransport(base: engine.engine, time: time), configuration: configuration)
      }
      settings.shared = SharedState(
        store: try FileStore(folder: folder, time: time),
        key: try SealingKey(base64: Secret(Data(repeating: 7, count: 32).base64EncodedString())), instances: 2,
        pricesPerSecond: Self.perSecond, pricesInBurst: Self.burst)
      return try RunningShop(settings)
    }
    users = try shops.map { try Users(of: $0.front, count: Load.users) }
  }

  private func ask(_ report: inout Report) async {
    let start = time.source.now()
    let first = await askBoth()
    report.check("two instances of the shop request one token", upstreams.tokens.count == 1)
    upstreams.tokens.revoke()
    let second = await askBoth()
    report.check("and one more after it was revoked", upstreams.tokens.count == 2)
    let seconds = (time.source.now() - start) / .seconds(1)
    let requests = upstreams.prices.server.requests.count { $0.path != "/oauth/token" }
    // One more for each instance that stalled between its turn and its request.
    let allowed = Double(Self.burst) + Self.perSecond * seconds + 2
    report.check(
      "together they keep the quota of the price API: \(requests) requests, \(Int(allowed)) were allowed",
      Double(requests) <= allowed)
    report.check("and every offer has its price", first.whole + second.whole == 2 * Load.requests)
  }

  private func askBoth() async -> Tally {
    async let one = users[0].ask(Load.requests / 2)
    async let other = users[1].ask(Load.requests / 2)
    var tally = await one
    tally.add(await other)
    return tally
  }
}
