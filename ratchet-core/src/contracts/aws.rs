//! Amazon Web Services.

use super::{DAY, MINUTE, page, times};
use crate::contract::{Contract, KeyFormat, OtherInput, Repeats, ScopePart, Signal, Source};

const EC2_SOURCES: &[Source] = &[
    page(
        "https://docs.aws.amazon.com/AWSEC2/latest/APIReference/Run_Instance_Idempotency.html",
        "`ClientToken`, up to 64 characters of ASCII, in one region; an older copy: at least 24 hours after the instance has \
         ended; `IdempotentParameterMismatch` (400) for other parameters",
    ),
    page(
        "https://github.com/boto/boto3/issues/4406",
        "a token whose instance has ended since: `IdempotentInstanceTerminated`, where the first answer was given before",
    ),
    page(
        "https://docs.aws.amazon.com/ec2/latest/devguide/errors-overview.html",
        "errors are XML, with the code in `Response.Errors.Error.Code`",
    ),
];

const CODE: &str = "Response.Errors.Error.Code";

/// What was made is gone, so it was made: a new token, as the answer advises, would make another one.
const EC2_SIGNALS: &[Signal] = &[
    Signal::done(400).to(499).when_field(CODE, "IdempotentInstanceTerminated"),
    Signal::mismatch(400).to(499).when_field(CODE, "IdempotentParameterMismatch"),
];

const fn ec2(name: &'static str, longest: usize) -> Contract {
    Contract::query_parameter("ClientToken")
        .named(name)
        .key(KeyFormat::up_to(longest))
        .kept_apart_by(&[ScopePart::Account, ScopePart::Region])
        .remembers_for(DAY)
        .other_input(OtherInput::Refused)
        .repeats(Repeats::FirstAnswer)
        .signals(EC2_SIGNALS)
        .sources(EC2_SOURCES)
}

/// EC2 `RunInstances`, where the token is a parameter of the query. A key in another region starts another instance. That the
/// instance of a token has ended since means done; the answer does not name it.
pub const EC2_RUN_INSTANCES: Contract = ec2("aws::EC2_RUN_INSTANCES", 64);

/// EC2 `CreateLaunchTemplate`. For how long a token is remembered is not documented.
pub const EC2_CREATE_LAUNCH_TEMPLATE: Contract =
    ec2("aws::EC2_CREATE_LAUNCH_TEMPLATE", 128).remembers_for_unstated_time();

/// `SendMessage` to a FIFO queue of SQS. A duplicate is accepted and not delivered, within five minutes only.
pub const SQS_FIFO: Contract = Contract::body_field("MessageDeduplicationId")
    .named("aws::SQS_FIFO")
    .key(KeyFormat::UUID)
    .kept_apart_by(&[ScopePart::Account, ScopePart::Region, ScopePart::Route])
    .remembers_for(times(MINUTE, 5))
    .other_input(OtherInput::NotNoticed)
    .repeats(Repeats::SilentDrop)
    .sources(&[page(
        "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/FIFO-key-terms.html",
        "`MessageDeduplicationId`, five minutes, per queue or group; a duplicate is accepted and not delivered, even after the \
         first one was received and deleted",
    )]);

/// `Publish` to a FIFO topic of SNS.
pub const SNS_FIFO: Contract = Contract::query_parameter("MessageDeduplicationId")
    .named("aws::SNS_FIFO")
    .key(KeyFormat::up_to(128))
    .remembers_for(times(MINUTE, 5))
    .other_input(OtherInput::NotNoticed)
    .repeats(Repeats::SilentDrop)
    .sources(&[page(
        "https://docs.aws.amazon.com/sdk-for-kotlin/api/latest/sns/aws.sdk.kotlin.services.sns.model/-publish-request/message-deduplication-id.html",
        "up to 128 letters, digits and signs of ASCII, five minutes at least, per topic or group; a duplicate is accepted and not \
         delivered",
    )]);

/// SES sends what it is told to, as often as it is told: no request has a place for a key.
pub const SES: Contract =
    Contract::NONE.named("aws::SES").lookup("tags, and the events that SES publishes").sources(&[page(
        "https://docs.rs/crate/aws-sdk-sesv2/0.4.1",
        "`SendEmailInput` has no member for a token",
    )]);
