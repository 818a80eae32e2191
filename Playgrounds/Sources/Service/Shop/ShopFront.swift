// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import LastroTesting
import ServiceLifecycle

/// The shop's own server, with one thread for each user connection. It shows the steps of a graceful shutdown, and is
/// not meant for the Internet. A real service would use Hummingbird or Vapor, and call the same ``Shop``.
final class ShopFront: Service {
  let server: LoopbackServer
  /// The events of the server: "serving", then "closing".
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

  /// Serves until graceful shutdown. It then completes the requests in progress, rejects new ones, and closes the
  /// connections.
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
    // This blocks the connection's thread, which is not allowed in a task. An asynchronous server does not need it.
    switch Waiting(offer).result() {
    case .success(let offer): .json(offer)
    case .failure(let error): .unavailable("\(error)")
    }
  }
}
