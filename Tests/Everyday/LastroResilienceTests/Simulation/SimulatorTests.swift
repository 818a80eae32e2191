// SPDX-License-Identifier: Apache-2.0

import Lastro
import Testing

/// A simulation of time. Events are processed in order, and time jumps from one to the next.
final class Simulator {
  private struct Event {
    var time: Double
    var number: Int
    var body: () -> Void

    /// Returns whether this event is due before another. The comparison is written out, like the loops below, because
    /// millions of these run without the optimizer.
    func precedes(_ other: Event) -> Bool { time < other.time || (time == other.time && number < other.number) }
  }

  private var heap: [Event] = []
  private var number = 0
  private var endings: [() -> Void] = []
  /// The current time in seconds.
  private(set) var now = 0.0
  let random: RandomSource

  /// The current time as the machines expect it.
  var time: Duration { .microseconds(Int64((now * 1e6).rounded())) }

  init(seed: UInt64) { random = .seeded(seed) }

  func after(_ seconds: Double, _ body: @escaping () -> Void) {
    number += 1
    heap.append(Event(time: now + max(0, seconds), number: number, body: body))
    var child = heap.count - 1
    while child > 0, heap[child].precedes(heap[(child - 1) / 2]) {
      heap.swapAt(child, (child - 1) / 2)
      child = (child - 1) / 2
    }
  }

  /// Adds work to be done after the end of the simulation. Servers release their waiting callers then, because the
  /// callers retain the server.
  func atEnd(_ body: @escaping () -> Void) { endings.append(body) }

  /// Runs until a time, and drops the events that are due later.
  func run(until end: Double) {
    while let first = heap.first, first.time <= end {
      now = first.time
      let last = heap.removeLast()
      if !heap.isEmpty {
        heap[0] = last
        sink()
      }
      first.body()
    }
    now = end
    heap = []
    for ending in endings { ending() }
  }

  private func sink() {
    let sinking = heap[0]
    var parent = 0
    while true {
      var child = 2 * parent + 1
      guard child < heap.count else { break }
      if child + 1 < heap.count, heap[child + 1].precedes(heap[child]) { child += 1 }
      guard heap[child].precedes(sinking) else { break }
      heap[parent] = heap[child]
      parent = child
    }
    heap[parent] = sinking
  }

  /// Returns a random time with a mean, as between the calls of many independent callers.
  func exponential(_ mean: Double) -> Double { random.exponential(mean) }
}

extension RandomSource {
  /// Returns a random time with a mean, as between the calls of many independent callers.
  func exponential(_ mean: Double) -> Double { -mean * Self.logarithm(1 - unit()) }

  /// Returns ln x for 0 < x ≤ 1, with operations alone that give the same result on every machine.
  private static func logarithm(_ x: Double) -> Double {
    var mantissa = x
    var exponent = 0.0
    while mantissa < 0.75 {
      mantissa *= 2
      exponent -= 1
    }
    let y = (mantissa - 1) / (mantissa + 1)
    var power = y
    var sum = 0.0
    var term = 1.0
    while term <= 21 {
      sum += power / term
      power *= y * y
      term += 2
    }
    return 2 * sum + exponent * 0.693147180559945309
  }
}

/// A server with workers and an unlimited queue. It does not notice that a caller has given up, and still serves the
/// call.
final class SimulatedServer {
  private let simulator: Simulator
  private let workers: Int
  private let service: () -> Double
  private var busy = 0
  private var queue: [(Bool) -> Void] = []
  private var head = 0
  /// Whether the server is down and refuses connections.
  var isDown = false
  /// The share of requests that fail at once.
  var failing = 0.0
  /// The number of requests that were received in each second.
  private(set) var load: [Int] = []

  init(_ simulator: Simulator, workers: Int, service: @escaping () -> Double) {
    (self.simulator, self.workers, self.service) = (simulator, workers, service)
    simulator.atEnd { [weak self] in self?.queue = [] }
  }

  /// Receives a request.
  ///
  /// - Parameter done: called with whether the request was served.
  func receive(_ done: @escaping (Bool) -> Void) {
    let second = Int(simulator.now)
    while load.count <= second { load.append(0) }
    load[second] += 1
    if isDown || failing > 0 && simulator.random.unit() < failing {
      simulator.after(0.001) { done(false) }
    } else if busy < workers {
      serve(done)
    } else {
      queue.append(done)
    }
  }

  private func serve(_ done: @escaping (Bool) -> Void) {
    busy += 1
    simulator.after(service()) { [self] in
      busy -= 1
      done(true)
      guard head < queue.count else { return }
      let next = queue[head]
      head += 1
      if head > 10_000 {
        queue.removeFirst(head)
        head = 0
      }
      serve(next)
    }
  }
}

@Suite("Simulator")
struct SimulatorTests {
  @Test("Events run in order of time, and simultaneous ones in order of scheduling")
  func order() {
    let simulator = Simulator(seed: 1)
    var done: [Int] = []
    for (index, delay) in [3.0, 1, 2, 1, 0, 5].enumerated() { simulator.after(delay) { done.append(index) } }
    simulator.run(until: 4)
    #expect(done == [4, 1, 3, 2, 0])
    #expect(simulator.now == 4)
  }

  @Test("Times between calls have the given mean, and workers serve up to their capacity")
  func server() {
    let simulator = Simulator(seed: 2)
    let mean = (0..<20_000).reduce(0) { sum, _ in sum + simulator.exponential(3) } / 20_000
    #expect(abs(mean - 3) < 0.1)
    let server = SimulatedServer(simulator, workers: 2) { 0.5 }
    var served = 0
    for _ in 0..<100 { server.receive { if $0 { served += 1 } } }
    simulator.run(until: 10.2)
    #expect(served == 40)
    #expect(server.load == [100])
  }
}
