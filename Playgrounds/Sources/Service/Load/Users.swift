// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroCurl

/// Simultaneous users of the shop. Each user sends the next request when the previous one has received its response.
struct Users: Sendable {
  static let articles = ["tea", "coffee", "cocoa", "mate"]

  let count: Int
  private let baseURL: String
  private let stack: CurlNetworkStack

  init(of front: ShopFront, count: Int) throws {
    self.count = count
    baseURL = front.server.baseURL
    var engine = CurlConfiguration()
    engine.connection.proxy = .none
    engine.connectionsPerHost = count
    // The shop has time limits. Its users have none, because this machine may be slow.
    let timeouts = try Timeouts(connect: nil, idle: nil, total: nil)
    stack = try CurlNetworkStack(engine, configuration: StackConfiguration(timeouts: timeouts))
  }

  func leave() async { await stack.shutDown() }

  func offer(_ article: String) async throws -> Offer {
    try await stack.fetch(.get("\(baseURL)/offers/\(article)?currency=USD", as: Offer.self))
      .value
  }

  func metrics() async throws -> String {
    try await stack.fetch(.text("\(baseURL)/metrics")).value
  }

  func ask(_ requests: Int) async -> Tally {
    await withTaskGroup(of: Tally.self) { group in
      for user in 0..<count {
        group.addTask {
          var tally = Tally()
          for number in stride(from: user, to: requests, by: count) {
            let start = ContinuousClock.now
            let result = await Result(of: { try await offer(Self.articles[number % Self.articles.count]) })
            tally.add(result, after: start.duration(to: .now))
          }
          return tally
        }
      }
      return await group.reduce(into: Tally()) { $0.add($1) }
    }
  }
}

extension Result where Failure == any Error {
  fileprivate init(of body: () async throws -> Success) async {
    do {
      self = .success(try await body())
    } catch {
      self = .failure(error)
    }
  }
}
