// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroHTTP
internal import LastroSupport

/// The system's look-ups of names for datagrams. `getaddrinfo` may block for any length of time.
enum SystemLookups {
  typealias Answer = Result<[String], TransportError>

  static let shared = make { addresses(of: $0) }

  /// Creates a queue of look-ups.
  ///
  /// - Parameter mostRequests: the maximum number of requests that may wait for an answer.
  static func make(
    mostRequests: Int = 4_096, resolve: @escaping @Sendable (HostName) -> Answer
  ) -> NameLookups<HostName, Answer> {
    NameLookups(
      mostRequests: mostRequests, full: .failure(.lookupsFull(mostRequests)), noThread: .failure(.noLookupThread),
      resolve: resolve)
  }

  private static func addresses(of host: HostName) -> Answer {
    nameThread("lastro-lookup")
    let (found, code) = SystemAddresses.lookUp(host.text)
    return found.isEmpty ? .failure(.noAddress(of: host.text, code)) : .success(found)
  }
}
