// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import Lastro
internal import LastroSupport

/// Resolves names by the system (`getaddrinfo`: `/etc/hosts`, DNS, and any other configured source), in the system's
/// order.
///
/// The system reports no time to live. Look-ups run on separate threads, at most 16 at once per process; others wait,
/// and concurrent requests for a name share one look-up. Cancelling a task ends its wait immediately; the system's
/// look-up continues.
package struct SystemResolver: NameResolver {
  private typealias Answer = Result<ResolvedName, TransportError>

  private static let mostRequests = 4_096
  private static let lookups = NameLookups<HostName, Answer>(
    mostRequests: mostRequests, full: .failure(.tooManyLookUps(mostRequests)), noThread: .failure(.noThreadForNames)
  ) { name in
    do throws(TransportError) { return .success(try lookUp(name)) } catch { return .failure(error) }
  }

  /// Creates a resolver. All instances share the same threads.
  package init() {}

  /// Looks up a name by the system.
  ///
  /// - Returns: the addresses; none for a name that does not exist.
  /// - Throws: `TransportError`: stage `resolve`, code `host_not_found`, if the system fails to answer; stage `limit`,
  ///   code `queue_full`, if 4,096 requests are waiting; stage `cancelled`.
  package func resolve(_ name: HostName, port: Int) async throws(TransportError) -> ResolvedName {
    let answer = OneAnswer<Answer>()
    Self.lookups.submit(.init(name: name, isGivenUp: { answer.isGiven }, answer: { answer.give($0) }))
    return try await withTaskCancellationHandler {
      await answer.value()
    } onCancel: {
      answer.give(.failure(.cancelled()))
    }.get()
  }

  /// `EAI_NODATA`, which the glibc module does not export: the name exists, but has no address.
  private static let noData: Int32 = -5

  private static func lookUp(_ name: HostName) throws(TransportError) -> ResolvedName {
    let (found, code) = SystemAddresses.lookUp(name.text)
    guard code == 0 else {
      if code == EAI_NONAME || code == noData { return try ResolvedName(addresses: []) }
      throw .lookUpFailed(name, String(cString: gai_strerror(code)), code)
    }
    // An address that needs a zone is left out.
    return try ResolvedName(addresses: found.filter { !$0.utf8.contains(UInt8(ascii: "%")) })
  }
}
