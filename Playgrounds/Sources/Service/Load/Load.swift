// SPDX-License-Identifier: Apache-2.0

import Glibc
import Lastro

/// A load on the shop while its upstreams fail in turn.
struct Load {
  static let users = 16
  static let requests = 160

  private let upstreams: Upstreams
  private let time = LoadClock()
  private let shop: RunningShop
  private let users: Users

  /// Runs the load, and returns the program's exit status.
  static func run() async throws -> Int32 {
    // After this, the descriptors that a process opens only once are open.
    try await rehearse()
    let descriptors = Descriptors.open
    let start = ContinuousClock.now
    var report = Report(users: users, requests: requests)
    try await go(&report)
    try await TwoInstances.run(&report)
    let left = await Descriptors.left(since: descriptors)
    report.check("no descriptor is left\(left.isEmpty ? "" : ", but \(left.joined(separator: ", "))")", left.isEmpty)
    print("in \(start.duration(to: .now).components.seconds) s")
    for problem in report.problems { print("✗ \(problem)") }
    if !report.problems.isEmpty, let words = report.busyness { print(words) }
    print("\n\(report.conclusion)")
    return report.problems.isEmpty ? 0 : 1
  }

  private static func go(_ report: inout Report) async throws {
    let load = try Load()
    let ticking = Task { await load.time.run() }
    defer { ticking.cancel() }
    let running = Task { try await load.shop.run() }
    try await load.shop.front.events.waitForEvents(count: 1)
    try await load.goThroughPhases(&report)
    report.note(latestTick: load.time.latestTick)
    report.explain()
    try await load.checkMetrics(&report)
    try await load.end(running, &report)
  }

  private init() throws {
    upstreams = try Upstreams()
    var settings = try upstreams.settings(time: time.source)
    settings.stack = { [time] engine, configuration in
      TransportNetworkStack(
        transport: PatientTransport(base: engine.engine, time: time.source), configuration: configuration)
    }
    shop = try RunningShop(settings)
    users = try Users(of: shop.front, count: Self.users)
  }

  private static func rehearse() async throws {
    let load = try Load()
    let ticking = Task { await load.time.run() }
    defer { ticking.cancel() }
    let running = Task { try await load.shop.run() }
    try await load.shop.front.events.waitForEvents(count: 1)
    _ = try await load.users.offer(Users.articles[0])
    kill(getpid(), SIGTERM)
    try await running.value
    await load.users.leave()
    load.upstreams.stop()
  }

  private func goThroughPhases(_ report: inout Report) async throws {
    for phase in Phase.all(upstreams, shop.pins, users: Self.users) {
      let before = phase.failing?.contacts
      try phase.begin()
      let unkept = phase.watch()
      let tally = await users.ask(Self.requests)
      report.add(phase, tally, reached: before.flatMap { before in phase.failing.map { $0.contacts - before } })
      for problem in unkept() { report.check("\(phase.name): \(problem)", false) }
      try upstreams.heal()
      try phase.end()
      if await !recovers() { report.check("the shop recovers after: \(phase.name)", false) }
      fflush(nil)
    }
  }

  /// Advances the clock by a minute, and returns whether the next requests find that all servers have recovered.
  private func recovers() async -> Bool {
    time.pass(.seconds(61))
    var isWhole: Set<String> = []
    for number in 0..<40 where isWhole.count < Users.articles.count {
      let article = Users.articles[number % Users.articles.count]
      var tally = Tally()
      do { tally.add(.success(try await users.offer(article)), after: .zero) } catch { tally.errors += 1 }
      if tally.whole == 1 { isWhole.insert(article) }
    }
    time.pass(.seconds(61))
    return isWhole.count == Users.articles.count
  }

  private func checkMetrics(_ report: inout Report) async throws {
    let lines = try await users.metrics().split(separator: "\n")
    report.check(
      "the metrics tell of circuits that opened",
      lines.contains { $0.hasPrefix("lastro_client_circuit_changes_total{") && $0.contains("\"open\"") })
    report.check(
      "and of refused certificates", lines.contains { $0.contains("error_type=\"trust/pin_mismatch\"") })
    report.check(
      "no request is active while the shop is at rest",
      lines.filter { $0.hasPrefix("http_client_active_requests{") }.allSatisfy { $0.hasSuffix(" 0.0") })
  }

  /// Sends SIGTERM while requests are in progress, and checks that the service ends in an orderly way.
  private func end(_ running: Task<Void, any Error>, _ report: inout Report) async throws {
    try upstreams.prices.turn(.held)
    let before = upstreams.prices.server.requests.count
    async let last = users.ask(Self.users)
    try await upstreams.prices.server.waitForRequests(count: before + Self.users)
    kill(getpid(), SIGTERM)
    try await shop.front.events.waitForEvents(count: 2)
    let late = try Users(of: shop.front, count: 1)
    var refused = Tally()
    do { refused.add(.success(try await late.offer(Users.articles[0])), after: .zero) } catch { refused.errors += 1 }
    report.check("after SIGTERM new requests are refused", refused.errors == 1)
    try upstreams.prices.turn(.healthy)
    let tally = await last
    report.check("and those under way are answered whole", tally.whole == Self.users)
    try await running.value
    await late.leave()
    await users.leave()
    upstreams.stop()
    report.check("the service has ended", true)
  }
}
