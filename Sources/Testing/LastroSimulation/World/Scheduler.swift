// SPDX-License-Identifier: Apache-2.0

internal import CLastroSimulation
internal import Lastro
internal import LastroHTTP
internal import LastroSupport

/// Runs the tasks, timers and event loops of a simulation one after the other, on one thread and in virtual time.
///
/// Everything that runs belongs to an owner, which is one start of a machine: what is paused waits, and what has
/// crashed never runs again. Among the things that could run at the same time, a generator with a seed chooses, so that
/// other seeds try other orders.
final class Scheduler: @unchecked Sendable {
  // Sendable because all members but `tasks`, which is a lock, are used on the simulation's thread alone.

  typealias Owner = Int

  enum State {
    case running
    case paused
    case crashed
  }

  private typealias Work = @convention(c) (UnsafeMutableRawPointer?) -> Void

  private enum Step {
    case job(UnsafeMutableRawPointer, Work?)
    case event(() -> Void)
  }

  private struct Item {
    var owner: Owner
    var step: Step
    /// Whether it is an actor's job. It must run even after a crash: an actor whose job is lost runs nothing any more,
    /// and may serve other machines, too.
    var isActor = false
  }

  private struct OwnerRecord {
    var state = State.running
    /// The number of faults that pause the owner.
    var pauses = 0
    /// The items that became ready while the owner was paused.
    var parked: [Item] = []
    /// The difference of its date from that of the world, in nanoseconds.
    var dateOffset: Int64 = 0
    var loop: ManualLoop?
  }

  /// The owner of what belongs to no machine, such as faults.
  static let world: Owner = 0
  /// The first time of the monotonic clock. It is not 0, because 0 has a meaning as a deadline.
  static let start: Int64 = 1_000 * 1_000_000_000
  /// The number of steps at the same time after which a run has no end.
  private static let mostStepsAtOnce = 5_000_000
  /// The date at the start: 2001-09-09 01:46:40 UTC.
  static let epoch: Int64 = 1_000_000_000 * 1_000_000_000

  /// The time in nanoseconds.
  private(set) var now = start
  private let random: RandomSource
  /// A number that depends on everything that has run, and on its order.
  private(set) var digest: UInt64 = 0xcbf2_9ce4_8422_2325
  /// The number of steps that have run.
  private(set) var steps = 0
  private(set) var current = world
  /// The number of steps since time has passed.
  private var stepsAtOnce = 0
  private var owners = [OwnerRecord()]
  private var ready: [Item] = []
  private var timers = TimerQueue<Item>()
  /// The owners of the tasks that have been seen, by the tasks' numbers.
  private let tasks = Lock<[UInt64: Owner]>([:])
  /// The number of the first task. Those with lower numbers are not the simulation's.
  private var firstTask: UInt64?
  private var dueLoops: [Owner] = []

  init(seed: UInt64) { random = .seeded(seed) }

  // MARK: Owners

  /// Adds an owner, which runs.
  func addOwner(dateOffset: Int64) -> Owner {
    var owner = OwnerRecord()
    owner.dateOffset = dateOffset
    owners.append(owner)
    return owners.count - 1
  }

  func setLoop(_ loop: ManualLoop, of owner: Owner) { owners[owner].loop = loop }

  func state(of owner: Owner) -> State { owners[owner].state }

  /// Pauses an owner, or lets it continue once every pause has ended.
  func setPaused(_ isPaused: Bool, _ owner: Owner) {
    guard owners[owner].state != .crashed else { return }
    owners[owner].pauses += isPaused ? 1 : -1
    switch (owners[owner].state, owners[owner].pauses > 0) {
    case (.running, true):
      owners[owner].state = .paused
      owners[owner].parked = ready.filter { $0.owner == owner }
      ready.removeAll { $0.owner == owner }
    case (.paused, false):
      owners[owner].state = .running
      ready += owners[owner].parked
      owners[owner].parked = []
    default: break
    }
  }

  /// Ends an owner. Its tasks stay suspended for ever.
  func crash(_ owner: Owner) {
    // Released last, because a loop that ends resumes tasks.
    let old = owners[owner]
    owners[owner] = OwnerRecord(state: .crashed)
    let items = old.parked + ready.filter { $0.owner == owner }
    ready.removeAll { $0.owner == owner }
    for item in items { add(item) }
    withExtendedLifetime(old) {}
  }

  /// - Parameter offset: at most some decades.
  func setDateOffset(_ offset: Int64, of owner: Owner) { owners[owner].dateOffset = offset }

  /// Returns the date of an owner, in nanoseconds since 1970.
  func date(of owner: Owner) -> Int64 { Self.epoch + (now - Self.start) + owners[owner].dateOffset }

  // MARK: Work

  /// Performs an event for an owner.
  func perform(for owner: Owner, _ body: @escaping () -> Void) { add(Item(owner: owner, step: .event(body))) }

  /// Performs an event for an owner at a time in nanoseconds.
  func perform(for owner: Owner, at time: Int64, _ body: @escaping () -> Void) {
    timers.insert(Item(owner: owner, step: .event(body)), at: max(time, now))
  }

  /// Starts a task for an owner.
  func start(for owner: Owner, _ body: @escaping @Sendable () async -> Void) {
    let previous = current
    current = owner
    Task.detached { await body() }
    current = previous
  }

  private func add(_ item: Item) {
    switch owners[item.owner].state {
    case .running: ready.append(item)
    case .paused: owners[item.owner].parked.append(item)
    case .crashed where item.isActor: ready.append(Item(owner: Self.world, step: item.step))
    case .crashed: break
    }
  }

  /// Returns the owner of a task: the one that was current when the task was first seen. `nil` for a task that began
  /// before the simulation.
  private func owner(ofTask task: UInt64) -> Owner? {
    let first = firstTask ?? task
    firstTask = first
    return tasks.withLock { [current] owners in
      if let owner = owners[task] { return owner }
      guard task >= first else { return nil }
      owners[task] = current
      return current
    }
  }

  /// Adds a job. Returns false if it is not the simulation's.
  private func enqueue(_ job: UnsafeMutableRawPointer, _ work: Work?, at time: Int64?) -> Bool {
    // Jobs with their own function may be libdispatch's, and have no task.
    let task = work == nil ? clsimulation_task(job) : 0
    guard let owner = task == 0 ? current : owner(ofTask: task) else { return false }
    let item = Item(owner: owner, step: .job(job, work), isActor: work == nil && task == 0)
    if let time { timers.insert(item, at: max(time, now)) } else { add(item) }
    return true
  }

  // MARK: Running

  /// Makes the calling thread the simulation's, and runs until a condition holds.
  ///
  /// - Parameters:
  ///   - seed: the seed of the system's generator.
  ///   - end: the time at which it stops in any case.
  ///   - prepare: called first.
  ///   - isOver: called after each step.
  ///   - finish: called last, while the thread is still the simulation's.
  /// - Returns: the result of `finish`.
  func run<Result>(
    seed: UInt64, until end: Int64, prepare: () -> Void, isOver: () -> Bool, finish: (Outcome) -> Result
  ) throws(SimulationRefusal) -> Result {
    let context = Unmanaged.passUnretained(self).toOpaque()
    var callbacks = clsimulation_world(
      context: context,
      enqueue: { context, job, work in
        guard let context, let job else { return false }
        return Unmanaged<Scheduler>.fromOpaque(context).takeUnretainedValue().enqueue(job, work, at: nil)
      },
      enqueue_at: { context, time, job, work in
        guard let context, let job else { return }
        _ = Unmanaged<Scheduler>.fromOpaque(context).takeUnretainedValue().enqueue(job, work, at: time)
      })
    Self.running.withLock { $0 = tasks }
    defer { Self.running.withLock { $0 = nil } }
    clsimulation_set_origin { task in
      if Scheduler.buried.withLock({ $0.contains(task) }) { return CLSIMULATION_ENDED }
      let own = Scheduler.running.withLock { $0 }
      return own?.withLock { $0[task] != nil } == true ? CLSIMULATION_RUNNING : CLSIMULATION_NONE
    }
    switch clsimulation_enter(&callbacks, seed) {
    case CLSIMULATION_ENTERED: break
    case CLSIMULATION_BUSY: throw .busy
    default: throw .linkedStatically
    }
    defer { clsimulation_leave() }
    setClocks()
    prepare()
    while !isOver() {
      if clsimulation_was_entered() {
        _ = finish(.stalled)
        throw .foreignThread
      }
      if stepsAtOnce > Self.mostStepsAtOnce { return finish(.busy) }
      if runOne() { continue }
      guard let next = nextTime() else { return finish(.stalled) }
      if next > end { return finish(.outOfTime) }
      advance(to: next)
    }
    return finish(.ended)
  }

  /// The reason why a run ended.
  enum Outcome {
    case ended
    /// Nothing will ever happen again.
    case stalled
    /// Tasks run without end while no time passes.
    case busy
    case outOfTime
  }

  /// Runs one thing that is ready. Returns false if there is none.
  private func runOne() -> Bool {
    dueLoops.removeAll(keepingCapacity: true)
    for (owner, record) in owners.enumerated() {
      if record.state == .running, let loop = record.loop, loop.due == 0 { dueLoops.append(owner) }
    }
    let count = ready.count + dueLoops.count
    guard count > 0 else { return false }
    let choice = count == 1 ? 0 : random.number(below: count)
    steps += 1
    stepsAtOnce += 1
    if choice < ready.count {
      ready.swapAt(choice, ready.count - 1)
      run(ready.removeLast())
    } else {
      let owner = dueLoops[choice - ready.count]
      setCurrent(owner, kind: 3)
      owners[owner].loop?.turnOnce()
    }
    setCurrent(Self.world, kind: 0)
    return true
  }

  private func run(_ item: Item) {
    switch item.step {
    case .event(let body):
      setCurrent(item.owner, kind: 1)
      body()
    case .job(let job, let work):
      setCurrent(item.owner, kind: 2)
      if let work { work(job) } else { clsimulation_run(job) }
    }
  }

  private func setCurrent(_ owner: Owner, kind: UInt64) {
    current = owner
    setClocks()
    guard kind > 0 else { return }
    for word in [UInt64(owner) << 2 | kind, UInt64(bitPattern: now)] { digest = (digest ^ word) &* 0x100_0000_01b3 }
  }

  private func setClocks() { clsimulation_set_time(now, date(of: current)) }

  private func nextTime() -> Int64? {
    var next = timers.earliest ?? .max
    for record in owners where record.state == .running {
      if let due = record.loop?.due { next = min(next, due) }
    }
    return next == .max ? nil : next
  }

  private func advance(to time: Int64) {
    if time > now { stepsAtOnce = 0 }
    now = max(now, time)
    while let item = timers.removeFirst(until: now) { add(item) }
  }

  /// The tasks of simulations that ended before their tasks.
  private static let buried = Lock<Set<UInt64>>([])
  /// The tasks of the simulation that runs.
  private static let running = Lock<Lock<[UInt64: Owner]>?>(nil)

  /// Makes sure that no task continues when a thread outside of the simulation resumes it later.
  func buryTasks() {
    let own = tasks.withLock { Array($0.keys) }
    Self.buried.withLock { $0.formUnion(own) }
  }

  /// Releases everything that has not run, for the end of a simulation.
  func forgetAll() {
    // Released last, because loops that end resume tasks, which must find that their owners have crashed.
    let old = (owners, ready, timers)
    for owner in owners.indices { owners[owner] = OwnerRecord(state: .crashed) }
    ready = []
    timers = TimerQueue()
    withExtendedLifetime(old) {}
    tasks.withLock { $0 = [:] }
  }
}
