// SPDX-License-Identifier: Apache-2.0

public import Lastro

/// A source of servers that come and go, for an ``EndpointSet``.
///
/// The base form is an `AsyncSequence` of lists, for example of a service registry. `LastroFleet` has sources for the
/// addresses and the SRV records of a DNS name, and for a file.
///
/// ```swift
/// let pods = try EndpointSource(of: "https://notes.internal:8443", addresses: registry.addresses(of: "notes"))
/// let notes = try await EndpointSet(following: pods)
/// ```
///
/// Each list replaces the one before. A list that is empty, that has more than 1000 servers, or in which a server cannot
/// be read, changes nothing, and neither does the end or the failure of the sequence.
public struct EndpointSource: Sendable {
  /// An answer of a source.
  package enum Answer: Sendable {
    case members([Endpoint])
    /// The reason why there is no list, as a clause.
    case failure(String)
  }

  /// The work of a source: it delivers answers until its task is cancelled, or it has no more.
  package typealias Work = @Sendable (_ time: TimeSource, _ deliver: @escaping @Sendable (Answer) -> Void) async -> Void

  static let mostMembers = 1_000
  /// The maximum number of members of a list before a subset is picked.
  static let mostListed = 100_000

  /// The name of the source, which `explain` shows.
  let name: String
  /// The origin that all members share; `nil` if each has its own.
  let sharedOrigin: Origin?
  let work: Work
  private var subset: EndpointSubset?

  /// Creates a source of any kind.
  package init(_ name: String, sharedOrigin: Origin? = nil, _ work: @escaping Work) {
    self.name = name
    self.sharedOrigin = sharedOrigin
    self.work = work
  }

  /// Creates a source of servers that have names or addresses of their own.
  ///
  /// ``EndpointSet/withEndpoint(avoiding:_:)`` chooses a server for each call, because `Host`, TLS name and credentials
  /// depend on it.
  ///
  /// - Parameter lists: lists of absolute `http` or `https` URLs; everything after a port is ignored. The sequence is
  ///   iterated by a task of each set that follows the source.
  public init<Lists: AsyncSequence & Sendable>(_ lists: Lists) where Lists.Element == [String] {
    self.init("a sequence", following: lists) { url throws(ConfigurationError) in try Endpoint(url) }
  }

  /// Creates a source of servers that share a name, such as the pods of a service.
  ///
  /// A stack whose ``Resilience/endpoints`` is the set chooses a server for each attempt of a request to the URL. `Host`,
  /// TLS name, pins and cookies are those of the URL.
  ///
  /// - Parameters:
  ///   - url: the absolute `http` or `https` URL of the service; everything after the port is ignored.
  ///   - lists: lists of IP addresses with or without a port, such as `192.0.2.7`, `192.0.2.7:8443` or
  ///     `[2001:db8::7]:8443`. The default port is that of the URL.
  /// - Throws: `ConfigurationError` for an invalid URL.
  public init<Lists: AsyncSequence & Sendable>(
    of url: String, addresses lists: Lists
  ) throws(ConfigurationError) where Lists.Element == [String] {
    let origin = try Origin(url)
    self.init("a sequence", sharedOrigin: origin, following: lists) { text throws(ConfigurationError) in
      try Endpoint(origin, address: MemberAddress(text))
    }
  }

  private init<Lists: AsyncSequence & Sendable>(
    _ name: String, sharedOrigin: Origin? = nil, following lists: Lists,
    _ read: @escaping @Sendable (String) throws(ConfigurationError) -> Endpoint
  ) where Lists.Element == [String] {
    self.init(name, sharedOrigin: sharedOrigin) { _, deliver in
      do {
        for try await list in lists { deliver(Self.answer(list, read)) }
      } catch {
        deliver(.failure("the sequence has failed: \(String(describing: error).onOneLine.prefix(200))"))
      }
    }
  }

  /// Returns the members of a list.
  package static func answer(
    _ list: [String], _ read: (String) throws(ConfigurationError) -> Endpoint
  ) -> Answer {
    guard list.count <= mostListed else { return .failure("a list has more than \(mostListed) servers") }
    var members: [Endpoint] = []
    do throws(ConfigurationError) {
      for text in list { members.append(try read(text)) }
    } catch {
      return .failure("a server in a list cannot be read: \(error.message)")
    }
    return .members(members)
  }

  /// Returns a source of which each of several instances uses a few members, so that not every instance connects to
  /// every member.
  ///
  /// The choice depends only on the numbers and on the list. Instances 0, 1, 2 … share the members evenly: with n
  /// instances, a member is used by `n × size / members` of them, give or take a few. When a member leaves, an instance
  /// exchanges at most two of its own; when an instance joins or leaves, the others change nothing.
  ///
  /// - Parameters:
  ///   - size: the number of members to use, 1 or more. All are used if there are fewer.
  ///   - instance: the number of this instance, such as the ordinal of a StatefulSet's pod. Numbers without gaps from 0
  ///     on are shared most evenly; others, such as hashes, work too.
  /// - Throws: `ConfigurationError` for a size below 1.
  public func subset(of size: Int, instance: Int) throws(ConfigurationError) -> EndpointSource {
    try ConfigurationError.check("the size of a subset", size, atLeast: 1)
    var source = self
    source.subset = EndpointSubset(size: size, instance: instance)
    return source
  }

  /// Returns the members that this instance uses, or why the list before is kept.
  func checked(_ answer: Answer) -> Answer {
    guard case .members(let all) = answer else { return answer }
    let members = subset?.picked(from: all) ?? all
    if members.isEmpty { return .failure("a list is empty") }
    if members.count > Self.mostMembers { return .failure("a list has \(members.count) servers, 1000 are allowed") }
    return .members(members)
  }
}
