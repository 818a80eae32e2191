// SPDX-License-Identifier: Apache-2.0

import BenchSupport
import Foundation
import FoundationNetworking

/// URLSession by its async API. HTTP/1.1 only: it has no way to trust another root, and no streams, on Linux.
@main
struct URLSessionClient: BenchClient {
  static let name = "urlsession"

  private let session: URLSession

  init(_ arguments: Arguments) throws {
    try arguments.refuse("pins", "interceptors", "waiting", "loops")
    guard arguments.scenario == .fetch else {
      throw BenchFailure.unsupported("URLSession takes part in fetch alone")
    }
    guard try !arguments.isHTTP2 else {
      throw BenchFailure.unsupported("URLSession cannot be told to trust another root, which HTTP/2 would need")
    }
    // No cache, cookies or credentials on disk.
    let configuration = URLSessionConfiguration.ephemeral
    configuration.urlCache = nil
    configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
    configuration.httpCookieStorage = nil
    configuration.urlCredentialStorage = nil
    // By default 6 connections to a host serve all its requests; further ones wait.
    configuration.httpMaximumConnectionsPerHost = try arguments.concurrency
    session = URLSession(configuration: configuration)
  }

  func exchange(_ kind: Scenario, url: String) throws -> Exchange {
    guard let url = URL(string: url) else { throw BenchFailure.failed("\(url) is no URL") }
    let request = URLRequest(url: url)
    return { [session] in
      let (data, response) = try await session.data(for: request)
      return Answer(status: (response as? HTTPURLResponse)?.statusCode ?? 0, bytes: data.count)
    }
  }

  static func isCancellation(_ error: any Error) -> Bool { (error as? URLError)?.code == .cancelled }

  func shutDown() { session.invalidateAndCancel() }
}
