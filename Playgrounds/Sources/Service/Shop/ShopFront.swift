// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import LastroTesting
import ServiceLifecycle

/// The shop's own server: a thread for each connection of a user. It shows what has to happen when the process ends,
/// and is no server for the Internet: a real service takes Hummingbird or Vapor here, and calls the same ``Shop``.
final class ShopFront: Service {
  let server: LoopbackServer
  /// "serving", then "closing".
  let events = EventRecorder<String>()
  private let work: OpenWork

  init(_ shop: Shop, metrics: PrometheusMetrics) throws {
    let work = OpenWork()
    self.work = work
    server = try LoopbackServer { connection in
      while let request = try connection.readRequest() {
        let isTaken = work.begin()
        defer { if isTaken { work.end() } }
        let answer = isTaken ? Self.answer(request, shop, metrics) : .unavailable("shutting down")
        let isLast = work.isClosing
        try connection.write(answer.bytes(isLast: isLast))
        if isLast { return connection.close() }
      }
    }
  }

  /// At the signal, requests that are under way are answered, new ones are refused, and then the connections end.
  func run() async throws {
    events.record("serving")
    try await gracefulShutdown()
    work.close()
    events.record("closing")
    await work.finish()
    server.stop()
  }

  private static func answer(_ request: LoopbackRequest, _ shop: Shop, _ metrics: PrometheusMetrics) -> FrontAnswer {
    switch request.pathSegments.first {
    case "metrics": FrontAnswer(type: "text/plain; version=0.0.4", body: metrics.text())
    case "health": FrontAnswer(type: "text/plain", body: "fine\n")
    case "offers" where request.pathSegments.count == 2:
      result(of: { try await shop.offer(request.pathSegments[1], in: request.queryItem("currency") ?? "EUR") })
    default: FrontAnswer(status: 404, type: "text/plain", body: "not here\n")
    }
  }

  private static func result(of offer: @escaping @Sendable () async throws -> Offer) -> FrontAnswer {
    // The connection's thread waits, which no task may. Servers that are asynchronous themselves need none of this.
    switch Waiting(offer).result() {
    case .success(let offer): .json(offer)
    case .failure(let error): .unavailable("\(error)")
    }
  }
}
