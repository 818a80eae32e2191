// SPDX-License-Identifier: Apache-2.0

public import Lastro
public import LastroEveryday
public import LastroResilience
internal import LastroWire

extension EndpointSource {
  /// Returns a source of all addresses of a DNS name, such as the pods of a headless service.
  ///
  /// The name is looked up again when the time to live of the answer is over, after 1 s at the earliest and 5 min at the
  /// latest. If a look-up fails or finds nothing, the last members stay, and the next one follows 5 s later.
  ///
  /// ```swift
  /// let names = try StubResolver(dialer: stack.dialer)
  /// let pods = try EndpointSource.addresses(of: "https://notes.internal", by: names)
  /// ```
  ///
  /// - Parameters:
  ///   - url: the absolute `http` or `https` URL of the service; everything after the port is ignored. Its host is the
  ///     name. `Host`, TLS name, pins and cookies are those of the URL.
  ///   - resolver: the resolver, such as a `StubResolver`. Do not pass a `CachingResolver`: its answers have an age that
  ///     it does not report. Default `nil`: the system's, which reports no time to live.
  ///   - interval: the time between two look-ups if the resolver reports no time to live; 1 s to 5 min. Default 30 s.
  /// - Throws: `ConfigurationError` for an invalid URL, a URL whose host is an address, and an interval out of range.
  public static func addresses(
    of url: String, by resolver: (any NameResolver)? = nil, every interval: Duration = .seconds(30)
  ) throws(ConfigurationError) -> EndpointSource {
    let origin = try Origin(url)
    let name = try HostName(origin.host)
    guard !name.isIPAddress else {
      throw ConfigurationError("\(origin) has an address and no name to look up", hint: "give the name of the service")
    }
    try DiscoveryPause.check(interval)
    let resolver = resolver ?? SystemResolver()
    return EndpointSource("the addresses of \(name)", sharedOrigin: origin) { time, deliver in
      await repeating(every: interval, time, deliver) { () async throws(TransportError) in
        let found = try await resolver.resolve(name, port: origin.port)
        let members = answer(found.addresses) { text throws(ConfigurationError) in
          try Endpoint(origin, address: MemberAddress(text))
        }
        return (members, found.timeToLive)
      }
    }
  }

  /// Returns a source of the servers of a service, by SRV records (RFC 2782).
  ///
  /// Each record is a server with a URL of its own, of its target and port, and `EndpointSet.withEndpoint` chooses among
  /// them. Servers with a higher priority number are backups, and weights are respected. The records are looked up again
  /// like addresses.
  ///
  /// - Parameters:
  ///   - name: the name of the service, such as `_https._tcp.notes.internal`.
  ///   - scheme: `https` or `http`. Default `https`.
  ///   - resolver: the resolver.
  /// - Throws: `ConfigurationError` for a name that DNS cannot express, and another scheme.
  public static func services(
    _ name: String, scheme: String = "https", by resolver: StubResolver
  ) throws(ConfigurationError) -> EndpointSource {
    guard DNSQuestion(name.utf8.last == UInt8(ascii: ".") ? String(name.dropLast()) : name, .srv) != nil else {
      throw ConfigurationError(
        "\"\(name.prefix(100).escapedForDisplay)\" cannot be the name of a service",
        hint: "give a name such as _https._tcp.notes.internal")
    }
    _ = try Origin("\(scheme)://service")
    return EndpointSource("the services \(name)") { time, deliver in
      await repeating(every: DiscoveryPause.afterFailure, time, deliver) { () async throws(TransportError) in
        guard let found = try await resolver.services(name) else { return (.members([]), nil) }
        return (answer(found.services, scheme: scheme), found.timeToLive)
      }
    }
  }

  /// Returns the members for the servers of a service.
  static func answer(_ services: [DNSService], scheme: String) -> Answer {
    // A target of the root means that the service is not available (RFC 2782).
    let available = services.filter { !$0.target.isEmpty }
    let priorities = Set(available.map(\.priority)).sorted()
    var members: [Endpoint] = []
    do throws(ConfigurationError) {
      for service in available {
        // A weight of 0 is a very small one.
        members.append(
          try Endpoint(
            "\(scheme)://\(service.target):\(service.port)", tier: priorities.firstIndex(of: service.priority) ?? 0,
            weight: max(1, Int(service.weight))))
      }
    } catch {
      return .failure("a record cannot be used: \(error.message)")
    }
    return .members(members)
  }

  /// Looks up members again and again, until the task is cancelled.
  ///
  /// - Parameter interval: the time between two look-ups without a time to live.
  private static func repeating(
    every interval: Duration, _ time: TimeSource, _ deliver: @Sendable (Answer) -> Void,
    _ look: () async throws(TransportError) -> (Answer, timeToLive: Duration?)
  ) async {
    while !Task.isCancelled {
      var pause = DiscoveryPause.afterFailure
      do throws(TransportError) {
        let (answer, timeToLive) = try await look()
        pause = DiscoveryPause.after(answer, timeToLive ?? interval)
        deliver(answer)
      } catch {
        deliver(.failure("a look-up has failed: \(error.message)"))
      }
      guard (try? await time.sleep(pause)) != nil else { return }
    }
  }
}

/// The times between two look-ups.
enum DiscoveryPause {
  static let range = Duration.seconds(1)...(.seconds(300))
  /// The time after a look-up that has failed or found nothing.
  static let afterFailure = Duration.seconds(5)

  static func check(_ interval: Duration) throws(ConfigurationError) {
    guard range.contains(interval) else {
      throw ConfigurationError(
        "the interval is \(interval.brief), which is not between 1 s and 5 min", hint: "give 1 s to 300 s")
    }
  }

  static func after(_ answer: EndpointSource.Answer, _ timeToLive: Duration) -> Duration {
    if case .members(let members) = answer, !members.isEmpty {
      return min(max(timeToLive, range.lowerBound), range.upperBound)
    }
    return afterFailure
  }
}
