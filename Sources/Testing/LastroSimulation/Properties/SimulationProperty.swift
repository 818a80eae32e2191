// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

/// A promise that each run of a simulation must keep.
///
/// ```swift
/// world.require(.noRequestTwice(of: .post), .everyCallEnds(within: .seconds(30)))
/// ```
public struct SimulationProperty: Sendable {
  /// The name, such as `noRequestTwice(of: POST)`.
  public let name: String
  let check: @Sendable (SimulationTrace) -> String?

  /// Creates a property.
  ///
  /// - Parameters:
  ///   - name: the name, which failures show.
  ///   - violation: returns how a run breaks the promise, as a sentence without its end; `nil` if the run keeps it.
  public init(_ name: String, violation: @escaping @Sendable (SimulationTrace) -> String?) {
    self.name = name
    check = violation
  }

  /// The statuses with which a server says that it has not processed a request.
  private static let refusals: Set<Int> = [401, 407, 408, 421, 425, 429, 503]

  /// Requires that no call of a method reaches the code of servers again after a request of the same call was processed.
  /// A request counts as processed unless its response was 401, 407, 408, 421, 425, 429 or 503, or says that it was
  /// not (``SimulationTrace/Request/wasRefused``). Redirects to other URLs are other requests. Requests with an `Idempotency-Key` do not count, because servers recognize them.
  public static func noRequestTwice(of method: HTTPRequest.Method) -> Self {
    Self("noRequestTwice(of: \(method))") { trace in
      struct Key: Hashable {
        var call: Int
        var url: String
      }
      var processed: [Key: SimulationTrace.Request] = [:]
      for request in trace.requests where request.method == method.rawValue && request.idempotencyKey == nil {
        guard let call = request.call else { continue }
        let key = Key(call: call, url: request.url)
        if let first = processed[key] {
          let answer = first.status.map { "answered with \($0)" } ?? "not answered"
          return
            "\(method) \(request.url) of \(trace.calls[call].machine) was received at \(first.time.inShort), \(answer), "
            + "and again at \(request.time.inShort)"
        }
        let wasRefused = request.wasRefused || (request.status.map(Self.refusals.contains) ?? false)
        if !wasRefused { processed[key] = request }
      }
      return nil
    }
  }

  /// Requires that each call ends within a duration of its start, unless its machine crashed. Time in which the machine
  /// was paused does not count.
  public static func everyCallEnds(within limit: Duration) -> Self {
    Self("everyCallEnds(within: \(limit))") { trace in
      for call in trace.calls where !call.wasAbandoned {
        let end = call.end ?? trace.duration
        let paused = trace.pause(of: call.machine, from: call.start, to: end)
        guard end - call.start - paused > limit else { continue }
        let ending = call.end.map { "ended at \($0.inShort)" } ?? "has not ended at \(trace.duration.inShort)"
        return "\(call.method) \(call.url) of \(call.machine) began at \(call.start.inShort) and \(ending)"
      }
      return nil
    }
  }

  /// Requires that each call succeeds that begins after a duration has passed since the effect of the last fault ended.
  public static func recovers(within limit: Duration) -> Self {
    Self("recovers(within: \(limit))") { trace in
      let recovered = trace.lastFaultEnd + limit
      for call in trace.calls where call.start >= recovered && !call.wasAbandoned {
        if call.end == nil, trace.duration - call.start > limit {
          return "\(call.method) \(call.url) of \(call.machine) began at \(call.start.inShort) and has not ended"
        }
        if let failure = call.failure {
          return
            "\(call.method) \(call.url) of \(call.machine) failed at \((call.end ?? trace.duration).inShort), though "
            + "the last fault ended at \(trace.lastFaultEnd.inShort): \(failure)"
        }
      }
      return nil
    }
  }

  /// Requires that the code of servers receives no more than a number of requests in any second.
  ///
  /// - Parameters:
  ///   - rate: the number of requests; a negative one counts as 0.
  ///   - url: the prefix of the URLs that count. Default: all.
  public static func neverAbove(rate: Int, of url: String = "") -> Self {
    Self("neverAbove(rate: \(rate)\(url.isEmpty ? "" : ", of: \(url)"))") { trace in
      let rate = max(0, rate)
      let times = trace.requests.filter { $0.url.hasPrefix(url) }.map(\.time)
      for (index, time) in times.enumerated() where index >= rate {
        let first = times[index - rate]
        if time - first < .seconds(1) {
          return "\(rate + 1) requests were received from \(first.inShort) to \(time.inShort)"
        }
      }
      return nil
    }
  }

  /// Requires that the program of no machine throws an error.
  public static let programsSucceed = Self("programsSucceed") { trace in trace.programErrors.first }
}
