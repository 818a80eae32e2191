// SPDX-License-Identifier: Apache-2.0

import BenchSupport
import Foundation
import FoundationNetworking

/// A client that uses the async API of URLSession. It supports HTTP/1.1 only. On Linux, URLSession cannot trust an
/// additional root, and has no streams.
@main
struct URLSessionClient: BenchClient {
  static let name = "urlsession"

  private let session: URLSession

  init(_ arguments: Arguments) throws {
    try arguments.refuse("pins", "interceptors", "waiting", "loops", "dialer", "proxy")
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
    // By default a host has at most 6 connections, and further requests wait.
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
